package archive

import (
	"cmp"
	"maps"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// CheckContent returns why content cannot be read, as far as that is known without reading it: a
// *DamageError if volumes of its set are missing, an error that wraps fs.ErrNotExist if no
// available set has it. It returns nil for content that is present, also as a delta: CheckBases looks for
// what that is based on.
func (a *Archive) CheckContent(desc ocispec.Descriptor) error {
	have := locations(a.blobs, desc.Digest)
	if at, ok := a.deltaFor(desc); ok {
		have = locations(a.blobs, at.File)
		desc.Size = have[0].entry.length()
	}
	if len(have) == 0 || have[0].entry.length() != desc.Size {
		return a.notFound(desc)
	}
	if covers(a.pieces(have, piece.usable), desc.Size) {
		return nil
	}
	return a.volumeError(have)
}

// available reports whether the accepted pieces contain what an entry of s is read for: content, or
// the plan.
func (a *Archive) available(s *set, e *entry, take func(piece) bool) bool {
	copies := [][]location{locations(a.blobs, e.Digest)}
	if blob, ok := a.BlobOf(e.Digest); ok {
		copies = append(copies, locations(a.blobs, blob.Digest)) // in a repair
	}
	if e.Path != "" {
		copies = a.planLocations(s.Plan)
	}
	return slices.ContainsFunc(copies, func(have []location) bool {
		return len(have) > 0 && covers(a.pieces(have, take), have[0].entry.length())
	})
}

// MissingBases returns the bases of a blob's delta that none of the opened sets has, each once, and nil for
// a blob that needs none.
func (a *Archive) MissingBases(desc ocispec.Descriptor) []DeltaBase {
	missing := map[digest.Digest]DeltaBase{}
	if at, ok := a.deltaFor(desc); ok {
		a.addMissingBases(at, missing, map[*Delta]bool{})
	}
	return elements.Sorted(maps.Values(missing), func(x, y DeltaBase) int { return cmp.Compare(x.Digest, y.Digest) })
}

// addMissingBases adds the missing bases of one blob. seen are the deltas that were looked at: deltas of strangers may
// share bases, and these theirs, again and again.
func (a *Archive) addMissingBases(at deltaAt, missing map[digest.Digest]DeltaBase, seen map[*Delta]bool) {
	if seen[at.Delta] {
		return
	}
	seen[at.Delta] = true
	for _, b := range at.Bases {
		if a.CheckContent(b.Descriptor()) != nil {
			missing[b.Digest] = b
		} else if of, ok := a.baseDelta(at, b); ok { // a delta of a later set is reported when it is read
			a.addMissingBases(of, missing, seen)
		}
	}
}

// replaceable reports whether all content of an unusable volume is in a usable one too.
func (a *Archive) replaceable(m, i int) bool {
	if a.members[m].needsIdentity() {
		return false
	}
	for j := range a.members[m].set.Volumes[i].Entries {
		e := &a.members[m].set.Volumes[i].Entries[j]
		if e.Path != "" && e.Path != planPath {
			continue // nothing is read from it
		}
		if !a.available(a.members[m].set, e, piece.usable) {
			return false
		}
	}
	return true
}
