package remote

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// Blob opens a blob of repo for reading once, from offset, 0 to its size, to its end. The reader
// checks the length and, from offset 0, the digest: if they differ from desc, the last bytes are
// withheld and the error, in place of io.EOF, wraps ErrMismatch. A body that breaks off is
// continued at that offset, as often as the retry policy allows. The context must last until Close.
//
// The reader is an io.WriterTo with a large buffer of its own.
func (c *Client) Blob(ctx context.Context, repo reference.Reference, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	return c.blob(ctx, repo, desc, offset, false)
}

// UnhashedBlob is Blob without the comparison with the digest, for a receiver that makes it. The length is compared.
func (c *Client) UnhashedBlob(ctx context.Context, repo reference.Reference, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	body, err := c.blob(ctx, repo, desc, offset, false)
	if b, ok := body.(*blob); ok && err == nil {
		b.hash = nil
	}
	return body, err
}

// BlobForUpload is Blob for the source of an upload to the same host. It uses the stream of the
// upload: uploads that wait for a second stream would wait for each other.
func (c *Client) BlobForUpload(ctx context.Context, repo reference.Reference, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	return c.blob(ctx, repo, desc, offset, true)
}

func (c *Client) blob(ctx context.Context, repo reference.Reference, desc ocispec.Descriptor, offset int64, held bool) (io.ReadCloser, error) {
	b, err := c.newBlob(ctx, repo.Name(), desc, offset)
	if err != nil {
		return nil, err
	}
	if offset == desc.Size && offset > 0 {
		return http.NoBody, nil // no Range header requests nothing
	}
	b.hasStream = held
	err = c.readBlob(ctx, repo.Repository(), func(ctx context.Context, at hostRef) error {
		b.at = at
		return c.retry(ctx, b.open)
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// newBlob returns a blob that is not opened yet, from an offset. from names where it is.
func (c *Client) newBlob(ctx context.Context, from string, desc ocispec.Descriptor, offset int64) (*blob, error) {
	if err := desc.Digest.Validate(); err != nil || desc.Size < 0 || offset < 0 || offset > desc.Size {
		return nil, fmt.Errorf("reading a blob of %s: the descriptor %s of %d bytes is malformed, or has no byte %d", from, desc.Digest, desc.Size, offset)
	}
	b := &blob{c: c, ctx: ctx, desc: desc, off: offset, attempts: attempts{from: offset}}
	if offset == 0 {
		b.hash = desc.Digest.Algorithm().Hash()
	}
	return b, nil
}

// A blob is the body of a blob, or of a file on the web, hashed while it is read.
type blob struct {
	c         *Client
	ctx       context.Context //nolint:containedctx // for requests that continue the body
	at        hostRef
	hasStream bool // for its requests
	desc      ocispec.Descriptor
	file      *webFile // nil for a blob of a registry
	// version is the validator of what was read in an earlier run, until the first request is answered.
	version string

	body     io.ReadCloser // nil if it must be opened again
	ends     int64         // the offset of its end, which may be early
	hash     hash.Hash     // nil if the beginning was not read
	off      int64         // the current offset
	attempts attempts
	err      error // the final error; io.EOF if all is correct
}

// Verifies reports whether the bytes are compared with desc, so that they need not be hashed again.
func (b *blob) Verifies(desc ocispec.Descriptor) bool {
	return b.hash != nil && b.desc.Digest == desc.Digest && b.desc.Size == desc.Size
}

// Hashed returns the hash of the n bytes that were read, nil if the beginning was not. It is for
// continuing elsewhere: the blob must no longer be read.
func (b *blob) Hashed() (h hash.Hash, n int64) { return b.hash, b.off }

// Read implements io.Reader.
func (b *blob) Read(p []byte) (int, error) {
	for b.err == nil && len(p) > 0 {
		if b.body == nil {
			if err := b.open(b.ctx); err != nil {
				b.err = b.attempts.next(b.ctx, b.c, err, b.off)
				continue
			}
		}
		n, err := b.body.Read(p[:min(int64(len(p)), b.desc.Size-b.off+1)])
		if b.off+int64(n) > b.desc.Size {
			b.err = b.mismatch("it is longer than %d bytes", b.desc.Size)
			break
		}
		if b.hash != nil {
			b.hash.Write(p[:n])
		}
		b.off += int64(n)
		if b.off == b.desc.Size {
			if b.err = b.finish(err); b.err == io.EOF && n > 0 {
				return n, nil
			}
			break
		}
		if err == io.EOF && b.off < b.ends {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			_ = b.body.Close()
			b.body = nil
		}
		if err != nil && err != io.EOF {
			err = b.at.h.broken(b.request(http.MethodGet, "reading the blob"), err)
			b.err = b.attempts.next(b.ctx, b.c, err, b.off)
		}
		if n > 0 {
			return n, nil
		}
	}
	if len(p) == 0 && b.err == nil {
		return 0, nil
	}
	return 0, b.err
}

// finish checks a blob of the right length, whose last read ended with err.
func (b *blob) finish(err error) error {
	if b.hash != nil {
		if got := fmt.Sprintf("%s:%x", b.desc.Digest.Algorithm(), b.hash.Sum(nil)); got != b.desc.Digest.String() {
			return b.mismatch("its content has the digest %s, and %s was expected", got, b.desc.Digest)
		}
	}
	if err == nil {
		// Reading the end of the body lets its connection be reused.
		var one [1]byte
		if n, _ := b.body.Read(one[:]); n > 0 {
			return b.mismatch("it is longer than %d bytes", b.desc.Size)
		}
	}
	return io.EOF
}

func (b *blob) mismatch(format string, args ...any) error {
	return b.at.h.failure(b.request(http.MethodGet, "reading the blob"), fmt.Errorf(format+": %w", append(args, ErrMismatch)...))
}

// WriteTo implements io.WriterTo.
func (b *blob) WriteTo(w io.Writer) (int64, error) {
	buf := buffers.Get().(*[copyBuffer]byte)
	defer buffers.Put(buf)
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{b}, buf[:])
}

// Close implements io.Closer.
func (b *blob) Close() error {
	if b.err == nil {
		b.err = errors.New("reading a blob after it was closed")
	}
	if b.body == nil {
		return nil
	}
	return b.body.Close()
}

// BlobExists reports whether repo has the blob, with one HEAD request.
func (c *Client) BlobExists(ctx context.Context, repo reference.Reference, desc ocispec.Descriptor) (bool, error) {
	err := c.readBlob(ctx, repo.Repository(), func(ctx context.Context, at hostRef) error {
		return c.retry(ctx, func(ctx context.Context) error { return at.hasBlob(ctx, desc) })
	})
	if notFound(err) {
		return false, nil
	}
	return err == nil, err
}

// hasBlob returns nil if the blob exists.
func (at hostRef) hasBlob(ctx context.Context, desc ocispec.Descriptor) error {
	r := (&blob{at: at, desc: desc}).request(http.MethodHead, "looking for the blob")
	resp, err := at.h.do(ctx, r)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return at.h.refusal(r, resp)
	}
	drain(resp.Body)
	if resp.ContentLength >= 0 && resp.ContentLength != desc.Size {
		return at.h.failure(r, fmt.Errorf("the registry has %d bytes of it and %d were expected: %w", resp.ContentLength, desc.Size, ErrMismatch))
	}
	return nil
}
