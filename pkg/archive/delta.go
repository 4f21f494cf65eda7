package archive

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	refs "github.com/gantry-mirror/gantry/pkg/reference"
)

const (
	// CompactFormat is the format of a delta whose bases may be blobs of its own set, whole or carried as deltas
	// themselves, and that may have no bases: its blob is only compressed better then.
	CompactFormat = 2
	// maxBases is how many bases a delta may have.
	maxBases = 16
)

// A Delta tells that an archive carries a blob as the differences to other blobs. The delta file, with
// these differences, is content of the archive. Package delta describes what it contains.
type Delta struct {
	// Digest and Size are those of the blob, which the archive does not contain.
	Digest digest.Digest `json:"digest"`
	Size   int64         `json:"size"` // bytes
	// File is the digest of the delta file.
	File digest.Digest `json:"delta"`
	// Format is 0, or CompactFormat.
	Format int `json:"format,omitempty"`
	// Bases are the blobs that the delta file needs, in its order.
	Bases []DeltaBase `json:"bases,omitempty"`
}

// A DeltaBase is a blob that the site has from an earlier set, or that the same set carries.
type DeltaBase struct {
	Digest     digest.Digest `json:"digest"`
	Size       int64         `json:"size"`       // bytes
	Repository string        `json:"repository"` // where the site has it, or will, by the name in the plan
}

// Descriptor returns the descriptor of the blob.
func (b *DeltaBase) Descriptor() ocispec.Descriptor {
	return ocispec.Descriptor{Digest: b.Digest, Size: b.Size}
}

// Descriptor returns the descriptor of the blob.
func (d *Delta) Descriptor() ocispec.Descriptor {
	return ocispec.Descriptor{Digest: d.Digest, Size: d.Size}
}

// A CarriedDelta is a delta for a new archive.
type CarriedDelta struct {
	Delta
	// FileSize is the size of the delta file in bytes.
	FileSize int64
	// Open opens the delta file.
	Open func(ctx context.Context) (io.ReadCloser, error)
}

func (d *Delta) check() error {
	for _, sum := range []digest.Digest{d.Digest, d.File} {
		if err := layout.CheckDigest(sum); err != nil {
			return fmt.Errorf("deltas: %w", err)
		}
	}
	if d.Format != 0 && d.Format != CompactFormat {
		return fmt.Errorf("deltas: %s has the format %d", d.Digest, d.Format)
	}
	if d.Size < 0 || d.Digest == d.File || len(d.Bases) > maxBases {
		return fmt.Errorf("deltas: %s of %d bytes is carried as %s with %d bases", d.Digest, d.Size, d.File, len(d.Bases))
	}
	for i, b := range d.Bases {
		if err := layout.CheckDigest(b.Digest); err != nil {
			return fmt.Errorf("deltas: %s: base: %w", d.Digest, err)
		}
		again := slices.ContainsFunc(d.Bases[:i], func(o DeltaBase) bool { return o.Digest == b.Digest })
		if b.Size < 0 || b.Digest == d.Digest || again || !refs.IsPath(b.Repository) {
			return fmt.Errorf("deltas: %s has the base %s of %d bytes in the repository %.80q", d.Digest, b.Digest, b.Size, b.Repository)
		}
	}
	return nil
}

// checkDeltas checks the deltas without the volumes.
func (s *set) checkDeltas() error {
	var before digest.Digest
	for i := range s.Deltas {
		d := &s.Deltas[i]
		if err := d.check(); err != nil {
			return err
		}
		if s.Repairs != nil || len(s.BuildsOn) == 0 && d.Format != CompactFormat {
			return fmt.Errorf("it has a delta for %s and builds on nothing", d.Digest)
		}
		if d.Digest <= before {
			return fmt.Errorf("deltas: %s does not come after %s", d.Digest, before)
		}
		before = d.Digest
	}
	return nil
}

// deltas checks that the delta files are in the volumes, each for one blob, that no blob is carried twice, and what
// deltas of the set are based on.
func (c *checker) deltas() error {
	files, sizes := map[digest.Digest]bool{}, map[digest.Digest]int64{}
	var all []*Delta
	for i := range c.set.Deltas {
		d := &c.set.Deltas[i]
		all, sizes[d.Digest] = append(all, d), d.Size
		switch {
		case !c.seen[string(d.File)]:
			return fmt.Errorf("%s is carried as %s, which is in no volume", d.Digest, d.File)
		case c.seen[string(d.Digest)]:
			return fmt.Errorf("%s is in deltas and in a volume", d.Digest)
		case files[d.File]:
			return fmt.Errorf("the delta %s is for two blobs", d.File)
		}
		files[d.File] = true
	}
	if !slices.Contains(c.set.Features, featureCompact) {
		return nil
	}
	for _, e := range c.set.all() {
		if e.isFirst() {
			sizes[e.Digest] = e.length()
		}
	}
	graph := chains{
		size: func(blob digest.Digest) (int64, bool) { n, ok := sizes[blob]; return n, ok },
		site: func(digest.Digest) bool { return len(c.set.BuildsOn) > 0 },
	}
	return graph.check(all)
}

// Promises reports whether the site is known to have a blob that a delta may be based on.
func (b *Base) Promises(d digest.Digest) bool { return b.HasBlob != nil && b.HasBlob(d) }

// sortDeltas returns the deltas as they are in a set manifest.
func sortDeltas(carried []CarriedDelta) []Delta {
	var all []Delta
	for i := range carried {
		all = append(all, carried[i].Delta)
	}
	elements.Sort(all, func(a, b Delta) int { return strings.Compare(string(a.Digest), string(b.Digest)) })
	return all
}

// byDigest returns the deltas by the digests of their blobs.
func byDigest(carried []CarriedDelta) map[digest.Digest]*CarriedDelta {
	all := make(map[digest.Digest]*CarriedDelta, len(carried))
	for i := range carried {
		all[carried[i].Digest] = &carried[i]
	}
	return all
}
