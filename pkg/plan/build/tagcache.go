package build

import (
	"bytes"
	"context"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/image"
)

// A tagCache resolves each tag once: two catalogs with the same source have the same content, even if the tag moves.
type tagCache struct {
	image.Reader

	mu   sync.Mutex
	tags map[string]*taggedLookup // by source
	kept int                      // bytes of manifests
}

// mostTagged is how many bytes of manifests a tagCache keeps. Few are read twice: those of catalogs.
const mostTagged = 1 << 20

// A taggedLookup is the manifest that a source resolves to.
type taggedLookup struct {
	sync.Mutex // locked while it is read
	digest     digest.Digest
	mediaType  string
	size       int64
	raw        []byte // nil if it is not kept
	err        error
}

// read reads the manifest if this did not happen before, and returns its text if it is known.
func (n *taggedLookup) read(ctx context.Context, c *tagCache, source string) ([]byte, error) {
	n.Lock()
	defer n.Unlock()
	if n.digest != "" || n.err != nil {
		return n.raw, n.err
	}
	desc, raw, err := c.Reader.Manifest(ctx, source, "")
	n.digest, n.mediaType, n.size, n.err = desc.Digest, desc.MediaType, desc.Size, err
	n.raw = c.keep(raw)
	return raw, err
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
	c.mu.Lock()
	n := c.tags[source]
	if n == nil && d == "" {
		if c.tags == nil {
			c.tags = map[string]*taggedLookup{}
		}
		n = &taggedLookup{}
		c.tags[source] = n
	}
	c.mu.Unlock()
	if n == nil {
		return c.Reader.Manifest(ctx, source, d)
	}
	raw, err := n.read(ctx, c, source)
	switch {
	case d != "" && (err != nil || raw == nil || n.digest != d):
		return c.Reader.Manifest(ctx, source, d)
	case err == nil && raw == nil:
		return c.Reader.Manifest(ctx, source, n.digest)
	}
	return ocispec.Descriptor{MediaType: n.mediaType, Digest: n.digest, Size: n.size}, raw, err
}
