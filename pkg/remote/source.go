package remote

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// A source is the blob of an upload, open for reading by one request after the other. A source that
// begins in the middle cannot compare the blob with its digest; it continues the hash of the source
// before it.
type source struct {
	rc     io.ReadCloser
	ctx    context.Context //nolint:containedctx // of its opening, to see whether it can still be read
	cancel context.CancelFunc
	next   int64 // the offset of the next Read
	desc   ocispec.Descriptor
	prefix prefixHash
}

// A prefixHash is the hash of the first n bytes of a blob, as they were read; nil if unknown.
type prefixHash struct {
	hash hash.Hash
	n    int64
}

// errChanged is why a blob that was read in parts is read again.
var errChanged = errors.New("its parts do not make up the content")

// Read implements io.Reader. It withholds the last bytes of wrong content.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.rc.Read(p)
	if s.prefix.hash != nil {
		if behind := s.prefix.n - s.next; behind < int64(n) {
			s.prefix.hash.Write(p[max(behind, 0):n])
			s.prefix.n = s.next + int64(n)
		}
		if n > 0 && s.next+int64(n) == s.desc.Size {
			if got := fmt.Sprintf("%s:%x", s.desc.Digest.Algorithm(), s.prefix.hash.Sum(nil)); got != s.desc.Digest.String() {
				return 0, fmt.Errorf("%w: they have the digest %s: %w", errChanged, got, ErrMismatch)
			}
		}
	}
	s.next += int64(n)
	return n, err
}

// sourceAt returns the source from an offset, and opens it if necessary.
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
		return nil, permanentError{err}
	}
	u.src = &source{rc: rc, ctx: ctx, cancel: cancel, next: off, desc: u.desc}
	if off > 0 && u.prefix.n >= off {
		u.src.prefix = u.prefix
	}
	return u.src, nil
}

// closeSource closes the source and keeps the hash of what was read.
func (u *upload) closeSource() {
	if u.src == nil {
		return
	}
	if u.src.prefix.hash != nil {
		u.prefix = u.src.prefix
	} else if h, ok := u.src.rc.(interface{ Hashed() (hash.Hash, int64) }); ok {
		u.prefix.hash, u.prefix.n = h.Hashed()
	}
	u.src.cancel()
	_ = u.src.rc.Close() // only read from
	u.src = nil
}
