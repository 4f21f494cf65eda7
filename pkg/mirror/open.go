package mirror

import (
	"context"
	"hash"
	"io"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

// opener returns a function that opens a blob for h from the first of its sources that has it.
func (r *run) opener(b *blobCopy, h *target) Open {
	return func(ctx context.Context, offset int64) (io.ReadCloser, error) {
		b.transfer.sending(h, offset)
		var errs []error
		for _, from := range b.sources() {
			body, err := r.source.Blob(ctx, from, b.descriptor(), offset)
			if err == nil {
				return &sourceReader{body, b.transfer}, nil
			}
			errs = append(errs, err)
			if ctx.Err() != nil {
				break
			}
		}
		if body, ok := r.openAtDestination(ctx, b, offset); ok {
			return &sourceReader{body, b.transfer}, nil
		}
		return nil, &sourceError{explain(joinSourceErrors(errs), "reading blob "+b.desc.Digest.String())}
	}
}

// A sourceReader reports progress and marks errors of the source.
type sourceReader struct {
	io.ReadCloser
	transfer *transfer
}

// Verifies reports whether the bytes are compared with desc.
func (c *sourceReader) Verifies(desc ocispec.Descriptor) bool {
	return layout.Verifies(c.ReadCloser, desc)
}

// Hashed returns the hash of the n bytes that were read.
func (c *sourceReader) Hashed() (h hash.Hash, n int64) { return layout.Hashed(c.ReadCloser) }

func (c *sourceReader) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.transfer.read(n)
	if err != nil && err != io.EOF {
		err = &sourceError{err}
	}
	return n, err
}
