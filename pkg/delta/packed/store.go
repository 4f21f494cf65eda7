package packed

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/klauspost/compress/flate"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// ErrStream is wrapped by the error for a stream that does not unpack to what was announced.
var ErrStream = errors.New("a compressed stream is not what was announced")

const (
	// anyUnpacked is how many bytes the streams of one content may unpack to, in addition to maxExpansion times their length.
	anyUnpacked  = 64 << 20
	maxExpansion = 20
)

// maxUnpacked returns how many bytes streams of a content may unpack to. packed is the length of all of them.
func maxUnpacked(packed int64) int64 { return anyUnpacked + min(packed, 1<<56)*maxExpansion }

// A Limit keeps the streams of one content within what ParseTable accepts, whichever of them are used in the end.
type Limit struct{ extra int64 }

// Allow reports whether a stream can be used with those that were allowed before.
func (l *Limit) Allow(s Stream) bool {
	extra := max(0, s.Unpacked-s.Packed*maxExpansion)
	if extra > anyUnpacked-l.extra {
		return false
	}
	l.extra += extra
	return true
}

// A Store has unpacked streams, in a temporary file. It is safe for concurrent use.
type Store struct {
	file *os.File

	mu   sync.Mutex
	size int64

	unpackers sync.Pool // of *unpacker
}

// An unpacker unpacks one stream after the other.
type unpacker struct {
	in      *bufio.Reader
	inflate io.Reader
	buffer  []byte
}

// NewStore creates the temporary file in a folder; "" is the one of the system. Close removes it.
func NewStore(dir string) (*Store, error) {
	f, err := regular.Temporary(dir, "gantry-unpacked-*")
	if err != nil {
		return nil, err
	}
	s := &Store{file: f}
	s.unpackers.New = func() any {
		in := bufio.NewReaderSize(nil, 16<<10)
		return &unpacker{in: in, inflate: flate.NewReader(in), buffer: make([]byte, 64<<10)}
	}
	return s, nil
}

// Close removes the file.
func (s *Store) Close() { regular.Discard(s.file) }

// Unpack unpacks a stream of content. The error wraps ErrStream if it is not exactly as long as announced, packed and unpacked.
func (s *Store) Unpack(ctx context.Context, content io.ReaderAt, stream *Stream) error {
	s.mu.Lock()
	stream.stored = s.size
	s.size += stream.Unpacked
	s.mu.Unlock()
	u := s.unpackers.Get().(*unpacker)
	defer s.unpackers.Put(u)
	u.in.Reset(io.NewSectionReader(content, stream.Start, stream.Packed))
	if err := u.inflate.(flate.Resetter).Reset(u.in, nil); err != nil {
		return err
	}
	n, err := u.copy(ctx, io.NewOffsetWriter(s.file, stream.stored), stream.Unpacked)
	var corrupt flate.CorruptInputError
	switch {
	case errors.As(err, &corrupt), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: unpacking it: %w", ErrStream, err)
	case err != nil:
		return err
	case n != stream.Unpacked:
		return fmt.Errorf("%w: it does not unpack to %d bytes", ErrStream, stream.Unpacked)
	}
	if _, err := u.in.ReadByte(); err != io.EOF {
		if err != nil {
			return err
		}
		return fmt.Errorf("%w: it ends before %d bytes", ErrStream, stream.Packed)
	}
	return nil
}

// copy copies at most limit bytes, and finds out whether there are more: n is larger then.
func (u *unpacker) copy(ctx context.Context, to io.Writer, limit int64) (n int64, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		k, err := u.inflate.Read(u.buffer)
		if n += int64(k); n > limit {
			return n, nil
		}
		if _, e := to.Write(u.buffer[:k]); e != nil {
			return n, e
		}
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// Unpacked reads what a stream unpacked to.
func (s *Store) Unpacked(stream Stream) *io.SectionReader {
	return io.NewSectionReader(s.file, stream.stored, stream.Unpacked)
}
