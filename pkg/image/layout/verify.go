package layout

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// A CorruptError means that content does not have its digest or length.
type CorruptError struct {
	Digest  digest.Digest
	Where   string // the file, or another name for messages
	Problem string // "it ends after 10 of 20 bytes"
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s is not the content %s: %s", e.Where, e.Digest, e.Problem)
}

// Verified returns a reader of body that compares the content with desc. If length or digest
// differ, the stream ends with a *CorruptError, which names the content where, instead of io.EOF;
// the last bytes are returned only after everything was verified. Reading ends with ctx. Digests
// other than sha256 and sha512 are an error.
//
// Bytes are hashed only once: if body has a method Verifies(ocispec.Descriptor) bool that reports
// that it verifies the same content itself, body is returned. Its errors are its own.
func Verified(ctx context.Context, body io.ReadCloser, desc ocispec.Descriptor, where string) (io.ReadCloser, error) {
	h, err := newHash(desc.Digest)
	if err != nil {
		return nil, err
	}
	if desc.Size < 0 {
		return nil, fmt.Errorf("content %s has the size %d", desc.Digest, desc.Size)
	}
	if Verifies(body, desc) {
		return body, nil
	}
	return &verified{ctx: ctx, body: body, desc: desc, where: where, hash: h}, nil
}

// Rest is Verified for a body that starts at an offset of the content, from 0 to desc.Size. From an
// offset other than 0, only the length is checked, because a digest covers the whole content.
func Rest(ctx context.Context, body io.ReadCloser, desc ocispec.Descriptor, offset int64, where string) (io.ReadCloser, error) {
	if offset == 0 {
		return Verified(ctx, body, desc, where)
	}
	return Measured(ctx, body, desc, offset, where)
}

// Measured is Rest, but only the length is checked, from offset 0 too. It is for content that the
// receiver compares with its digest.
func Measured(ctx context.Context, body io.ReadCloser, desc ocispec.Descriptor, offset int64, where string) (io.ReadCloser, error) {
	if offset < 0 || offset > desc.Size {
		return nil, fmt.Errorf("%s has no byte %d: it has %d", where, offset, desc.Size)
	}
	return &verified{ctx: ctx, body: body, desc: desc, where: where, n: offset}, nil
}

// Verifies reports whether body itself compares its content with desc. A reader that wraps another
// one may return its result.
func Verifies(body io.ReadCloser, desc ocispec.Descriptor) bool {
	v, ok := body.(interface{ Verifies(ocispec.Descriptor) bool })
	return ok && v.Verifies(desc)
}

// Hashed returns the hash of the first n bytes of the content, which were read from body, or nil if
// body keeps none. A reader that wraps another one may return its result. It is for continuing with
// the content from another source: body must no longer be read.
func Hashed(body io.ReadCloser) (h hash.Hash, n int64) {
	if v, ok := body.(interface{ Hashed() (hash.Hash, int64) }); ok {
		return v.Hashed()
	}
	return nil, 0
}

// verified stores the ctx of one reading, as an http.Request does, because io.Reader has no
// parameter for it.
type verified struct {
	ctx   context.Context
	body  io.ReadCloser
	desc  ocispec.Descriptor
	where string
	hash  hash.Hash // nil if the beginning was not read
	n     int64     // bytes of the content that are behind
	err   error     // returned by every further Read
}

func (v *verified) Read(p []byte) (int, error) {
	if v.err != nil {
		return 0, v.err
	}
	if v.ctx.Err() != nil {
		v.err = context.Cause(v.ctx)
		return 0, v.err
	}
	if v.n == v.desc.Size { // only if reading started at the end
		v.err = v.end()
		return 0, v.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	n, err := v.body.Read(p[:min(int64(len(p)), v.desc.Size-v.n)])
	if v.hash != nil {
		v.hash.Write(p[:n]) // never returns an error
	}
	v.n += int64(n)
	switch {
	case v.n == v.desc.Size:
		if v.err = v.end(); v.err != io.EOF {
			return 0, v.err
		}
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		v.err = v.corrupt("it ends after %d of %d bytes", v.n, v.desc.Size)
		return n, v.err
	case err != nil:
		v.err = err
		return n, err
	}
	return n, nil
}

// Verifies reports whether the content is compared with desc.
func (v *verified) Verifies(desc ocispec.Descriptor) bool {
	return v.hash != nil && v.desc.Digest == desc.Digest && v.desc.Size == desc.Size
}

// Hashed returns the hash of what was read.
func (v *verified) Hashed() (h hash.Hash, n int64) { return v.hash, v.n }

// end checks what was read and returns io.EOF if it is correct.
func (v *verified) end() error {
	var one [1]byte
	if n, _ := io.ReadFull(v.body, one[:]); n > 0 {
		return v.corrupt("it goes on after %d bytes", v.desc.Size)
	}
	if v.hash == nil {
		return io.EOF
	}
	if got := digest.NewDigest(v.desc.Digest.Algorithm(), v.hash); got != v.desc.Digest {
		return v.corrupt("its digest is %s", got)
	}
	return io.EOF
}

func (v *verified) corrupt(format string, args ...any) error {
	return &CorruptError{Digest: v.desc.Digest, Where: v.where, Problem: fmt.Sprintf(format, args...)}
}

func (v *verified) Close() error { return v.body.Close() }

// newHash checks a digest and returns its hash.
func newHash(d digest.Digest) (hash.Hash, error) {
	if err := CheckDigest(d); err != nil {
		return nil, err
	}
	if d.Algorithm() == digest.SHA512 {
		return sha512.New(), nil
	}
	return sha256.New(), nil
}
