package build

import (
	"context"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/image"
)

// A tagCache resolves each tag once: two catalogs with the same source have the same content, even if
// the tag moves.
type tagCache struct {
	image.Reader

	mu      sync.Mutex
	lookups map[string]func() (taggedManifest, error)
}

// A taggedManifest is the manifest that a source resolves to.
type taggedManifest struct {
	desc ocispec.Descriptor
	raw  []byte
}

func (c *tagCache) Manifest(ctx context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	if d != "" {
		if n, ok := c.lookup(source, d); ok {
			return n.desc, n.raw, nil
		}
		return c.Reader.Manifest(ctx, source, d)
	}
	c.mu.Lock()
	find := c.lookups[source]
	if find == nil {
		find = sync.OnceValues(func() (n taggedManifest, err error) {
			n.desc, n.raw, err = c.Reader.Manifest(ctx, source, "")
			return n, err
		})
		if c.lookups == nil {
			c.lookups = map[string]func() (taggedManifest, error){}
		}
		c.lookups[source] = find
	}
	c.mu.Unlock()
	n, err := find()
	return n.desc, n.raw, err
}

// lookup returns the manifest that the source resolves to, if it was resolved before and is d.
func (c *tagCache) lookup(source string, d digest.Digest) (taggedManifest, bool) {
	c.mu.Lock()
	find := c.lookups[source]
	c.mu.Unlock()
	if find == nil {
		return taggedManifest{}, false
	}
	n, err := find()
	return n, err == nil && n.desc.Digest == d
}
