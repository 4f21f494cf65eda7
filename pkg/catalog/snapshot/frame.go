package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// Limits of what a snapshot may make a reader hold. The largest package in public
// catalogs has 61 MB, a whole catalog 400 MB. What is larger is not held.
const (
	maxFrame   = 256 << 20 // unpacked
	maxFrames  = 1 << 30   // all of them, unpacked
	maxObjects = 1 << 20   // of a frame
	maxWindow  = 8 << 20   // what zstd looks back on
)

// A frame is a part of the file that holds objects, compressed.
type frame struct {
	At       int64  `json:"at"`       // from the beginning of the file
	Size     int64  `json:"size"`     // in the file
	Unpacked int64  `json:"unpacked"` // what it unpacks to
	SHA256   string `json:"sha256"`   // of the bytes in the file, in hexadecimal
}

// A writer writes frames one behind the other.
type writer struct {
	w    io.Writer
	at   int64
	zstd *zstd.Encoder
}

func newWriter(w io.Writer) (*writer, error) {
	// JSON packs to a tenth at this level already, at several hundred MB a
	// second.
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(maxWindow/2))
	if err != nil {
		return nil, err
	}
	return &writer{w: w, zstd: z}, nil
}

func (w *writer) Write(b []byte) (int, error) {
	n, err := w.w.Write(b)
	w.at += int64(n)
	return n, err
}

// frame writes a frame of objects.
func (w *writer) frame(metas []*catalog.Meta) (frame, error) {
	f := frame{At: w.at}
	sum := sha256.New()
	w.zstd.Reset(io.MultiWriter(w, sum))
	var err error
	if f.Unpacked, err = writeMetas(w.zstd, metas); err != nil {
		return frame{}, err
	}
	if err := w.zstd.Close(); err != nil {
		return frame{}, err
	}
	f.Size, f.SHA256 = w.at-f.At, hex.EncodeToString(sum.Sum(nil))
	return f, nil
}

// copy writes a frame of another snapshot.
func (w *writer) copy(s *Snapshot, f frame) (frame, error) {
	packed, err := s.packed(f)
	if err != nil {
		return frame{}, err
	}
	f.At = w.at
	_, err = w.Write(packed)
	return f, err
}

// packed reads the bytes of a frame and compares its checksum.
func (s *Snapshot) packed(f frame) ([]byte, error) {
	packed := make([]byte, f.Size) // no more than the file has
	if _, err := s.r.ReadAt(packed, f.At); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if sum := sha256.Sum256(packed); hex.EncodeToString(sum[:]) != f.SHA256 {
		return nil, errors.New("the checksum is wrong")
	}
	return packed, nil
}

// metas reads the objects of a frame.
func (s *Snapshot) metas(f frame) ([]*catalog.Meta, error) {
	packed, err := s.packed(f)
	if err != nil {
		return nil, err
	}
	z, err := zstd.NewReader(bytes.NewReader(packed),
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	metas, err := readMetas(z, f.Unpacked)
	if err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	return metas, nil
}

// check refuses a frame that does not lie in the file.
func (f frame) check(size int64) error {
	if f.At < 0 || f.Size < 0 || f.At > size || f.Size > size-f.At || f.Unpacked < 0 || f.Unpacked > maxFrame {
		return errors.New("a frame is larger than it can be")
	}
	return nil
}
