package plan

import (
	_ "crypto/sha512" // digests of content may use it
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
)

// Contents finds the manifests and blobs of a plan by digest. It uses the lists of the plan if they
// are sorted, as in every plan that Gantry writes: a separate index would be as large.
type Contents struct {
	manifests []Manifest
	blobs     []Blob
}

// Contents indexes the plan. Duplicate entries and entries with an invalid digest or size are
// errors.
func (p *Plan) Contents() (*Contents, error) {
	c := &Contents{manifests: inOrder(p.Manifests, compareManifests), blobs: inOrder(p.Blobs, compareBlobs)}
	for i := range c.manifests {
		m := &c.manifests[i]
		if err := checkDigest("the digest of a manifest", m.Digest); err != nil {
			return nil, err
		}
		if m.Size <= 0 || i > 0 && c.manifests[i-1].Digest == m.Digest {
			return nil, fmt.Errorf("manifest %s has the size %d or is listed twice", m.Digest, m.Size)
		}
	}
	for i, b := range c.blobs {
		if err := checkDigest("the digest of a blob", b.Digest); err != nil {
			return nil, err
		}
		if b.Size < 0 || i > 0 && c.blobs[i-1].Digest == b.Digest {
			return nil, fmt.Errorf("blob %s has the size %d or is listed twice", b.Digest, b.Size)
		}
	}
	return c, nil
}

// maxBlob is the maximum size of a blob in bytes, and maxBytes of all content of a plan.
const (
	maxBlob  = 1 << 44
	maxBytes = 1 << 60
)

// CheckSize returns an error if no content with a digest can have a size. Only empty content has the
// size 0, and its digest is known.
func CheckSize(d digest.Digest, size int64) error {
	switch {
	case size < 0 || size > maxBlob:
		return fmt.Errorf("%s has the size %d", d, size)
	case size == 0 && !isEmpty(d):
		return fmt.Errorf("%s has the size 0, but it is not the digest of empty content", d)
	}
	return nil
}

// isEmpty reports whether d is the digest of empty content.
func isEmpty(d digest.Digest) bool {
	name, _, _ := strings.Cut(string(d), ":")
	algorithm := digest.Algorithm(name)
	return algorithm.Available() && d == algorithm.FromBytes(nil)
}

// checkContent returns an error unless the type, the size and the lists of m are those of an image
// manifest or an index.
func (m *Manifest) checkContent() error {
	switch {
	case !manifest.Is(m.MediaType):
		return fmt.Errorf("%s is not the type of a manifest", quoted(m.MediaType))
	case m.Size <= 0 || m.Size > manifest.MaxSize:
		return fmt.Errorf("it has the size %d", m.Size)
	case manifest.IsIndex(m.MediaType) && len(m.Blobs) > 0:
		return errors.New("it is an index and lists blobs")
	case manifest.IsImage(m.MediaType) && (len(m.Manifests) > 0 || m.Sparse):
		return errors.New("it is an image and lists manifests")
	}
	return nil
}

// inOrder returns the list itself if it is sorted, otherwise a sorted copy.
func inOrder[T any](list []T, compare func(a, b T) int) []T {
	if slices.IsSortedFunc(list, compare) {
		return list
	}
	return elements.Sorted(slices.Values(list), compare)
}

func compareManifests(a, b Manifest) int { return strings.Compare(string(a.Digest), string(b.Digest)) }
func compareBlobs(a, b Blob) int         { return strings.Compare(string(a.Digest), string(b.Digest)) }

// manifest returns the manifest with a digest, or nil.
func (c *Contents) manifest(d digest.Digest) *Manifest {
	i, ok := slices.BinarySearchFunc(c.manifests, d, func(m Manifest, d digest.Digest) int {
		return strings.Compare(string(m.Digest), string(d))
	})
	if !ok {
		return nil
	}
	return &c.manifests[i]
}

// blob returns the index of a blob in the list.
func (c *Contents) blob(d digest.Digest) (at int, ok bool) {
	return slices.BinarySearchFunc(c.blobs, d, func(b Blob, d digest.Digest) int {
		return strings.Compare(string(b.Digest), string(d))
	})
}

// Blobs returns the blobs of the plan, sorted by digest.
func (c *Contents) Blobs() []Blob { return c.blobs }

// Manifest returns the manifest with a digest.
func (c *Contents) Manifest(d digest.Digest) (Manifest, bool) {
	m := c.manifest(d)
	if m == nil {
		return Manifest{}, false
	}
	return *m, true
}

// Has reports whether the plan has a manifest or blob with a digest.
func (c *Contents) Has(d digest.Digest) bool {
	_, ok := c.blob(d)
	return ok || c.manifest(d) != nil
}

// Walk visits the manifest root and everything below it: children before the index that lists them,
// blobs before the manifest that lists them. Content that is shared within the image is visited
// each time it is listed; too many visits are an error. Walk stops at the first error.
func (c *Contents) Walk(root digest.Digest, manifest func(*Manifest) error, blob func(Blob) error) error {
	return c.WalkIndexes(root, manifest, func(at int) error { return blob(c.blobs[at]) })
}

// WalkIndexes is Walk, but passes the index of each blob in [Contents.Blobs].
func (c *Contents) WalkIndexes(root digest.Digest, manifest func(*Manifest) error, blob func(at int) error) error {
	return (&walk{c: c, manifest: manifest, blob: blob}).visit(root, 0)
}

// size returns the size of all manifests and blobs below root, each counted once, and how many a walk visits.
func (c *Contents) size(root digest.Digest) (sum int64, visits int, err error) {
	seen := map[digest.Digest]bool{}
	add := func(d digest.Digest, n int64) {
		visits++
		if !seen[d] {
			seen[d] = true
			sum += n
		}
	}
	err = c.Walk(root,
		func(m *Manifest) error { add(m.Digest, m.Size); return nil },
		func(b Blob) error { add(b.Digest, b.Size); return nil })
	return sum, visits, err
}

// MaxDepth is the maximum nesting of indexes. An image has two levels.
const MaxDepth = 8

// An index may list another one many times, and that one the next, so that few manifests are visited without end. A walk
// visits at most maxVisits manifests and blobs, and walks of all images of a plan maxAllVisits. Large images have some
// thousands.
const (
	maxVisits    = 1 << 20
	maxAllVisits = 1 << 26
)

// A walk visits a manifest and everything below it.
type walk struct {
	c        *Contents
	manifest func(*Manifest) error
	blob     func(at int) error
	visits   int
}

func (w *walk) visit(d digest.Digest, depth int) error {
	m := w.c.manifest(d)
	if m == nil {
		return fmt.Errorf("manifest %s is not in the plan", d)
	}
	if depth > MaxDepth {
		return fmt.Errorf("manifest %s is nested in more than %d indexes", d, MaxDepth)
	}
	if w.visits += 1 + len(m.Blobs); w.visits > maxVisits {
		return fmt.Errorf("manifest %s is in an index of more than %d manifests and blobs", d, maxVisits)
	}
	for _, child := range m.Manifests {
		if err := w.visit(child, depth+1); err != nil {
			return err
		}
	}
	for _, b := range m.Blobs {
		at, ok := w.c.blob(b)
		if !ok {
			return fmt.Errorf("blob %s of manifest %s is not in the plan", b, d)
		}
		if err := w.blob(at); err != nil {
			return err
		}
	}
	return w.manifest(m)
}
