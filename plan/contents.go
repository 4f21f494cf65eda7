package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
)

// Contents finds the manifests and blobs of a plan by digest. The lists are the
// plan's own where they are sorted, as they are in every plan that was written
// here: an index beside them would be as large.
type Contents struct {
	manifests []Manifest
	blobs     []Blob
}

// Contents indexes the plan. Entries that are there twice or have an impossible
// digest or size are errors.
func (p *Plan) Contents() (*Contents, error) {
	c := &Contents{manifests: inOrder(p.Manifests, compareManifests), blobs: inOrder(p.Blobs, compareBlobs)}
	for i := range c.manifests {
		m := &c.manifests[i]
		if err := m.Digest.Validate(); err != nil {
			return nil, fmt.Errorf("manifest %q: %w", m.Digest, err)
		}
		if m.Size <= 0 || i > 0 && c.manifests[i-1].Digest == m.Digest {
			return nil, fmt.Errorf("manifest %s has the size %d or is there twice", m.Digest, m.Size)
		}
	}
	for i, b := range c.blobs {
		if err := b.Digest.Validate(); err != nil {
			return nil, fmt.Errorf("blob %q: %w", b.Digest, err)
		}
		if b.Size < 0 || i > 0 && c.blobs[i-1].Digest == b.Digest {
			return nil, fmt.Errorf("blob %s has the size %d or is there twice", b.Digest, b.Size)
		}
	}
	return c, nil
}

// inOrder is the list itself where it is sorted, else a sorted copy.
func inOrder[T any](list []T, compare func(a, b T) int) []T {
	if slices.IsSortedFunc(list, compare) {
		return list
	}
	return slices.SortedFunc(slices.Values(list), compare)
}

func compareManifests(a, b Manifest) int { return strings.Compare(string(a.Digest), string(b.Digest)) }
func compareBlobs(a, b Blob) int         { return strings.Compare(string(a.Digest), string(b.Digest)) }

// manifest is the manifest of that digest; nil where there is none.
func (c *Contents) manifest(d digest.Digest) *Manifest {
	i, ok := slices.BinarySearchFunc(c.manifests, d, func(m Manifest, d digest.Digest) int {
		return strings.Compare(string(m.Digest), string(d))
	})
	if !ok {
		return nil
	}
	return &c.manifests[i]
}

// blob is where the blob of that digest stands.
func (c *Contents) blob(d digest.Digest) (at int, ok bool) {
	return slices.BinarySearchFunc(c.blobs, d, func(b Blob, d digest.Digest) int {
		return strings.Compare(string(b.Digest), string(d))
	})
}

// Blobs are the blobs of the plan, sorted by digest.
func (c *Contents) Blobs() []Blob { return c.blobs }

// Manifest returns the manifest of that digest.
func (c *Contents) Manifest(d digest.Digest) (Manifest, bool) {
	m := c.manifest(d)
	if m == nil {
		return Manifest{}, false
	}
	return *m, true
}

// Has reports whether the plan has a manifest or blob of that digest.
func (c *Contents) Has(d digest.Digest) bool {
	_, ok := c.blob(d)
	return ok || c.manifest(d) != nil
}

// Walk visits the manifest root and everything below it: children before the
// index that lists them, blobs before the manifest that lists them. What is
// shared within the image is visited each time it is listed. It ends with the
// first error.
func (c *Contents) Walk(root digest.Digest, manifest func(*Manifest) error, blob func(Blob) error) error {
	return c.walk(root, 0, manifest, func(at int) error { return blob(c.blobs[at]) })
}

// WalkAt is Walk that tells of a blob where it stands in [Contents.Blobs].
func (c *Contents) WalkAt(root digest.Digest, manifest func(*Manifest) error, blob func(at int) error) error {
	return c.walk(root, 0, manifest, blob)
}

// size is that of all manifests and blobs below root, each counted once.
func (c *Contents) size(root digest.Digest) (int64, error) {
	seen := map[digest.Digest]bool{}
	var sum int64
	add := func(d digest.Digest, n int64) {
		if !seen[d] {
			seen[d] = true
			sum += n
		}
	}
	err := c.Walk(root,
		func(m *Manifest) error { add(m.Digest, m.Size); return nil },
		func(b Blob) error { add(b.Digest, b.Size); return nil })
	return sum, err
}

// maxDepth bounds indexes of indexes; an image has two levels.
const maxDepth = 8

func (c *Contents) walk(d digest.Digest, depth int, manifest func(*Manifest) error, blob func(at int) error) error {
	m := c.manifest(d)
	if m == nil {
		return fmt.Errorf("manifest %s is not in the plan", d)
	}
	if depth > maxDepth {
		return fmt.Errorf("manifest %s lies more than %d indexes deep", d, maxDepth)
	}
	for _, child := range m.Manifests {
		if err := c.walk(child, depth+1, manifest, blob); err != nil {
			return err
		}
	}
	for _, b := range m.Blobs {
		at, ok := c.blob(b)
		if !ok {
			return fmt.Errorf("blob %s of manifest %s is not in the plan", b, d)
		}
		if err := blob(at); err != nil {
			return err
		}
	}
	return manifest(m)
}
