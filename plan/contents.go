package plan

import (
	"fmt"

	"github.com/opencontainers/go-digest"
)

// Contents finds the manifests and blobs of a plan by digest.
type Contents struct {
	manifests map[digest.Digest]*Manifest
	blobs     map[digest.Digest]int64
}

// Contents indexes the plan. Entries that are there twice or have an impossible
// digest or size are errors.
func (p *Plan) Contents() (*Contents, error) {
	c := &Contents{
		manifests: make(map[digest.Digest]*Manifest, len(p.Manifests)),
		blobs:     make(map[digest.Digest]int64, len(p.Blobs)),
	}
	for i := range p.Manifests {
		m := &p.Manifests[i]
		if err := m.Digest.Validate(); err != nil {
			return nil, fmt.Errorf("manifest %q: %w", m.Digest, err)
		}
		if m.Size <= 0 || c.manifests[m.Digest] != nil {
			return nil, fmt.Errorf("manifest %s has the size %d or is there twice", m.Digest, m.Size)
		}
		c.manifests[m.Digest] = m
	}
	for _, b := range p.Blobs {
		if err := b.Digest.Validate(); err != nil {
			return nil, fmt.Errorf("blob %q: %w", b.Digest, err)
		}
		if _, twice := c.blobs[b.Digest]; b.Size < 0 || twice {
			return nil, fmt.Errorf("blob %s has the size %d or is there twice", b.Digest, b.Size)
		}
		c.blobs[b.Digest] = b.Size
	}
	return c, nil
}

// Manifest returns the manifest of that digest.
func (c *Contents) Manifest(d digest.Digest) (Manifest, bool) {
	m, ok := c.manifests[d]
	if !ok {
		return Manifest{}, false
	}
	return *m, true
}

// Walk visits the manifest root and everything below it: children before the
// index that lists them, blobs before the manifest that lists them. What is
// shared within the image is visited each time it is listed. It ends with the
// first error.
func (c *Contents) Walk(root digest.Digest, manifest func(Manifest) error, blob func(Blob) error) error {
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
		func(m Manifest) error { add(m.Digest, m.Size); return nil },
		func(b Blob) error { add(b.Digest, b.Size); return nil })
	return sum, err
}

// maxDepth bounds indexes of indexes; an image has two levels.
const maxDepth = 8

func (c *Contents) walk(d digest.Digest, depth int, manifest func(Manifest) error, blob func(Blob) error) error {
	m, ok := c.manifests[d]
	if !ok {
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
		size, ok := c.blobs[b]
		if !ok {
			return fmt.Errorf("blob %s of manifest %s is not in the plan", b, d)
		}
		if err := blob(Blob{Digest: b, Size: size}); err != nil {
			return err
		}
	}
	return manifest(*m)
}
