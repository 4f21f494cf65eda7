package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/opencontainers/go-digest"
)

// maxIndex is the maximum size of an index in the file.
const maxIndex = 8 << 20

// A Snapshot is an opened snapshot. It may be used by several goroutines if its reader may.
type Snapshot struct {
	r     io.ReaderAt
	index index
}

// Open opens the snapshot of the image with the given root. r is size bytes long. Open reads only
// the index. After any error the snapshot is unusable.
func Open(r io.ReaderAt, size int64, root digest.Digest) (*Snapshot, error) {
	s, err := open(r, size)
	if err == nil && s.index.Root != root {
		err = fmt.Errorf("it belongs to %.200q", s.index.Root)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the snapshot of catalog %s: %w", root, err)
	}
	return s, nil
}

func open(r io.ReaderAt, size int64) (*Snapshot, error) {
	if size < int64(len(magic)+footerSize) {
		return nil, errors.New("the file is too short")
	}
	footer := make([]byte, footerSize)
	if _, err := r.ReadAt(footer, size-int64(footerSize)); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if string(footer[footerSize-len(magic):]) != magic {
		return nil, errors.New("not a snapshot, or another version")
	}
	at, length := binary.BigEndian.Uint64(footer), binary.BigEndian.Uint64(footer[8:])
	end := uint64(size - int64(footerSize))
	if length > maxIndex || length > end || at != end-length {
		return nil, errors.New("the position of the index is invalid")
	}
	data := make([]byte, length)
	if _, err := r.ReadAt(data, int64(at)); err != nil && !errors.Is(err, io.EOF) { //nolint:gosec // at is below size
		return nil, err
	}
	if sum := sha256.Sum256(data); !bytes.Equal(sum[:], footer[16:16+len(sum)]) {
		return nil, errors.New("the checksum of the index does not match")
	}
	s := &Snapshot{r: r}
	if err := json.Unmarshal(data, &s.index); err != nil {
		return nil, fmt.Errorf("reading the index: %w", err)
	}
	return s, s.index.check(int64(at)) //nolint:gosec // as above
}

// check returns an error for an index that Write would not write; the frames end at end.
func (ix *index) check(end int64) error {
	frames := []frame{ix.Others}
	for _, p := range ix.Packages {
		frames = append(frames, p.frame)
	}
	if ix.Outlines != nil {
		frames = append(frames, *ix.Outlines)
	}
	packed, unpacked := int64(0), int64(0)
	for _, f := range frames {
		if err := f.check(end); err != nil {
			return err
		}
		packed += f.Size
		unpacked += f.Unpacked
	}
	if packed > end || unpacked > maxFrames {
		return errors.New("the frames are too large")
	}
	if !slices.IsSorted(ix.Names) {
		return errors.New("the names are not sorted")
	}
	for i := range max(len(ix.Packages)-1, 0) {
		if ix.Packages[i].Name >= ix.Packages[i+1].Name {
			return errors.New("the packages are not sorted")
		}
	}
	return nil
}

// Facts returns the facts of the Content, unchanged.
func (s *Snapshot) Facts() []byte { return slices.Clone(s.index.Facts) }
