package remote

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// A source is the blob of an upload, open for reading, for one request after the
// other. One that begins in the middle cannot be compared with the blob's digest
// where it comes from; it continues the hash of the source before it.
type source struct {
	rc     io.ReadCloser
	ctx    context.Context //nolint:containedctx // that it was opened with, to see whether it still serves
	cancel context.CancelFunc
	next   int64 // the byte that Read gives first
	desc   ocispec.Descriptor
	passed passed
}

// passed is the hash of the first n bytes of a blob, as they were read once; nil
// where it is not known.
type passed struct {
	hash hash.Hash
	n    int64
}

// errChanged is why a blob that was read in parts is read again.
var errChanged = errors.New("its parts do not make up the content")

// Read implements io.Reader. The last bytes of wrong content are held back.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.rc.Read(p)
	if s.passed.hash != nil {
		if behind := s.passed.n - s.next; behind < int64(n) {
			s.passed.hash.Write(p[max(behind, 0):n])
			s.passed.n = s.next + int64(n)
		}
		if n > 0 && s.next+int64(n) == s.desc.Size {
			if got := fmt.Sprintf("%s:%x", s.desc.Digest.Algorithm(), s.passed.hash.Sum(nil)); got != s.desc.Digest.String() {
				return 0, fmt.Errorf("%w: they have the digest %s: %w", errChanged, got, ErrMismatch)
			}
		}
	}
	s.next += int64(n)
	return n, err
}

// sourceAt is the source from a byte on, opened where it is not open there.
func (u *upload) sourceAt(ctx context.Context, off int64) (*source, error) {
	if u.src != nil {
		if u.src.next == off && u.src.ctx.Err() == nil {
			return u.src, nil
		}
		u.closeSource()
	}
	ctx, cancel := context.WithCancel(ctx)
	rc, err := u.open(ctx, off)
	if err != nil {
		cancel()
		return nil, final{err}
	}
	u.src = &source{rc: rc, ctx: ctx, cancel: cancel, next: off, desc: u.desc}
	if off > 0 && u.kept.n >= off {
		u.src.passed = u.kept
	}
	return u.src, nil
}

// closeSource closes the source and keeps the hash of what it gave.
func (u *upload) closeSource() {
	if u.src == nil {
		return
	}
	if u.src.passed.hash != nil {
		u.kept = u.src.passed
	} else if h, ok := u.src.rc.(interface{ Hashed() (hash.Hash, int64) }); ok {
		u.kept.hash, u.kept.n = h.Hashed()
	}
	u.src.cancel()
	_ = u.src.rc.Close() // only read from
	u.src = nil
}
