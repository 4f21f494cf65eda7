package mirror

import (
	"context"
	"hash"
	"io"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/layout"
)

// open opens a blob for h at the first of its sources that gives it, counting
// what is read.
func (r *run) open(b *delivery, h *home) Open {
	return func(ctx context.Context, offset int64) (io.ReadCloser, error) {
		b.flight.send(h, offset)
		var errs []error
		for _, from := range b.from() {
			body, err := r.source.Blob(ctx, from, b.descriptor(), offset)
			if err == nil {
				return &counted{body, b.flight}, nil
			}
			errs = append(errs, err)
			if ctx.Err() != nil {
				break
			}
		}
		if body, ok := r.openElsewhere(ctx, b, offset); ok {
			return &counted{body, b.flight}, nil
		}
		return nil, &sourceError{explain(allOf(errs), "reading blob "+b.desc.Digest.String())}
	}
}

// counted reports progress while it is read, and marks what the source did
// wrong as the source's.
type counted struct {
	io.ReadCloser
	flight *flight
}

// Verifies hands on whether the bytes are compared with desc.
func (c *counted) Verifies(desc ocispec.Descriptor) bool { return layout.Verifies(c.ReadCloser, desc) }

// Hashed hands on the hash of what was read.
func (c *counted) Hashed() (h hash.Hash, n int64) { return layout.Hashed(c.ReadCloser) }

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.flight.read(n)
	if err != nil && err != io.EOF {
		err = &sourceError{err}
	}
	return n, err
}
