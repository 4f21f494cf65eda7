package airgap

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/state"
)

// commonReceipt returns the receipt of what the sites of both receipts have and read. A blob that they have in different
// repositories is left out, since an import reads it where the receipt says.
func commonReceipt(a, b *state.Receipt) *state.Receipt {
	out := &state.Receipt{Name: a.Name, Reads: commonReader(a.Reads, b.Reads)}
	if a.Plan == b.Plan {
		out.Plan = a.Plan
	}
	out.Sets = common(a.Sets, b.Sets, func(x, y state.SetRef) int {
		return cmp.Or(cmp.Compare(x.Sequence, y.Sequence), strings.Compare(string(x.Set), string(y.Set)))
	}, func(x, _ state.SetRef) state.SetRef { return x })
	out.Repositories = common(a.Repositories, b.Repositories, func(x, y state.Repository) int { return strings.Compare(x.Name, y.Name) }, commonRepository)
	return out
}

func commonRepository(a, b state.Repository) state.Repository {
	return state.Repository{
		Name: a.Name,
		Images: common(a.Images, b.Images, func(x, y state.Image) int { return strings.Compare(string(x.Digest), string(y.Digest)) }, func(x, y state.Image) state.Image {
			return state.Image{Digest: x.Digest, Tags: common(x.Tags, y.Tags, strings.Compare, func(tag, _ string) string { return tag })}
		}),
		Blobs: common(a.Blobs, b.Blobs, func(x, y state.Blob) int {
			return cmp.Or(strings.Compare(string(x.Digest), string(y.Digest)), cmp.Compare(x.Size, y.Size))
		}, func(x, _ state.Blob) state.Blob { return x }),
	}
}

// commonReader returns what both sites read; nil, as for a version that does not say it, if one does not.
func commonReader(a, b *state.ArchiveReader) *state.ArchiveReader {
	if a == nil || b == nil {
		return nil
	}
	name := func(x, _ string) string { return x }
	return &state.ArchiveReader{
		Format:      min(a.Format, b.Format),
		Features:    common(a.Features, b.Features, strings.Compare, name),
		Compressors: common(a.Compressors, b.Compressors, strings.Compare, name),
	}
}

// common returns what two sorted lists have in common, joined.
func common[T any](a, b []T, compare func(x, y T) int, join func(x, y T) T) (both []T) {
	for _, x := range a {
		if i, found := slices.BinarySearchFunc(b, x, compare); found {
			both = append(both, join(x, b[i]))
		}
	}
	return both
}
