package build

import (
	"bytes"
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
	kept    int // bytes of manifests
}

// mostTagged is how many bytes of manifests a tagCache keeps. Few are read twice: those of catalogs.
const mostTagged = 4 << 20

// A taggedManifest is the manifest that a source resolves to.
type taggedManifest struct {
	desc ocispec.Descriptor
	raw  []byte // nil if it is not kept
}

// keep returns a manifest to be kept, nil if there is no room.
func (c *tagCache) keep(raw []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept+len(raw) > mostTagged {
		return nil
	}
	c.kept += len(raw)
	return bytes.Clone(raw)
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
	var read []byte // by this call
	if find == nil {
		find = sync.OnceValues(func() (n taggedManifest, err error) {
			n.desc, read, err = c.Reader.Manifest(ctx, source, "")
			n.raw = c.keep(read)
			return n, err
		})
		if c.lookups == nil {
			c.lookups = map[string]func() (taggedManifest, error){}
		}
		c.lookups[source] = find
	}
	c.mu.Unlock()
	n, err := find()
	if err == nil && read == nil && n.raw == nil {
		return c.Reader.Manifest(ctx, source, n.desc.Digest)
	}
	if read == nil {
		read = n.raw
	}
	return n.desc, read, err
}

// lookup returns the manifest that the source resolves to, if it was resolved before, is d and was kept.
func (c *tagCache) lookup(source string, d digest.Digest) (taggedManifest, bool) {
	c.mu.Lock()
	find := c.lookups[source]
	c.mu.Unlock()
	if find == nil {
		return taggedManifest{}, false
	}
	n, err := find()
	return n, err == nil && n.desc.Digest == d && n.raw != nil
}
