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

// A CorruptError says that bytes are not the ones that a digest names.
type CorruptError struct {
	Digest  digest.Digest
	Where   string // the file, or what else people call the place
	Problem string // "it ends after 10 of 20 bytes"
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s is not the content %s: %s", e.Where, e.Digest, e.Problem)
}

// Verified returns a reader over body, which has to be the content that desc
// describes. In place of io.EOF, bytes of another length or digest end in a
// *CorruptError that calls their place where; the last bytes are given out only
// when all were found right. Reading ends with ctx. Digests other than sha256
// and sha512 are refused.
//
// Bytes are hashed once: a body that does all this by itself for the same
// content, and says so by a method Verifies(ocispec.Descriptor) bool, is
// returned as it is. What it finds wrong is an error of its own kind.
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

// Rest is Verified for a body that begins at offset, 0 to desc.Size, of the
// content. From an offset other than 0 only the length is checked, since a digest
// is of the whole.
func Rest(ctx context.Context, body io.ReadCloser, desc ocispec.Descriptor, offset int64, where string) (io.ReadCloser, error) {
	switch {
	case offset == 0:
		return Verified(ctx, body, desc, where)
	case offset < 0 || offset > desc.Size:
		return nil, fmt.Errorf("%s has no byte %d: it has %d", where, offset, desc.Size)
	}
	return &verified{ctx: ctx, body: body, desc: desc, where: where, n: offset}, nil
}

// Verifies reports whether body by itself compares what it gives with desc. A
// reader around another may hand its answer on.
func Verifies(body io.ReadCloser, desc ocispec.Descriptor) bool {
	v, ok := body.(interface{ Verifies(ocispec.Descriptor) bool })
	return ok && v.Verifies(desc)
}

// Hashed gives away the hash of the first n bytes of the content, which were read
// from body, where it keeps one; nil where not. A reader around another may hand
// its answer on. It is for who goes on with the content elsewhere: body must not
// be read any more.
func Hashed(body io.ReadCloser) (h hash.Hash, n int64) {
	if v, ok := body.(interface{ Hashed() (hash.Hash, int64) }); ok {
		return v.Hashed()
	}
	return nil, 0
}

// verified holds the ctx of one reading, as an http.Request does: io.Reader has
// no place for it.
type verified struct {
	ctx   context.Context
	body  io.ReadCloser
	desc  ocispec.Descriptor
	where string
	hash  hash.Hash // nil where the beginning is missing
	n     int64     // bytes of the content that are behind
	err   error     // what every further Read returns
}

func (v *verified) Read(p []byte) (int, error) {
	if v.err != nil {
		return 0, v.err
	}
	if v.ctx.Err() != nil {
		v.err = context.Cause(v.ctx)
		return 0, v.err
	}
	if v.n == v.desc.Size { // only where nothing is left from the start
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

// Verifies reports whether the bytes are compared with desc.
func (v *verified) Verifies(desc ocispec.Descriptor) bool {
	return v.hash != nil && v.desc.Digest == desc.Digest && v.desc.Size == desc.Size
}

// Hashed gives away the hash of what was read.
func (v *verified) Hashed() (h hash.Hash, n int64) { return v.hash, v.n }

// end judges what was read: io.EOF where it is right.
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

// newHash returns the hash of a digest after a check that the digest is one.
func newHash(d digest.Digest) (hash.Hash, error) {
	if err := CheckDigest(d); err != nil {
		return nil, err
	}
	if d.Algorithm() == digest.SHA512 {
		return sha512.New(), nil
	}
	return sha256.New(), nil
}
