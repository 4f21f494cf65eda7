package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/klauspost/compress/zstd"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// Limits on the memory that a snapshot needs. The largest package in public catalogs has 61 MB, a
// whole catalog 400 MB. Larger packages are not stored.
const (
	maxFrame   = 256 << 20 // uncompressed
	maxFrames  = 1 << 30   // of all frames, uncompressed
	maxObjects = 1 << 20   // per frame
	maxWindow  = 8 << 20   // the window of zstd
)

// A frame is a compressed part of the file with objects.
type frame struct {
	At       int64  `json:"at"`       // from the beginning of the file
	Size     int64  `json:"size"`     // in the file
	Unpacked int64  `json:"unpacked"` // uncompressed size
	SHA256   string `json:"sha256"`   // of the bytes in the file, in hexadecimal
}

// A writer writes frames one after the other.
type writer struct {
	w    io.Writer
	at   int64
	zstd *zstd.Encoder
}

func newWriter(w io.Writer) (*writer, error) {
	// JSON shrinks to a tenth at this level, at several hundred MB a second.
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

// copy copies a frame of another snapshot.
func (w *writer) copy(s *Snapshot, f frame) (frame, error) {
	packed, err := s.packed(f)
	if err != nil {
		return frame{}, err
	}
	f.At = w.at
	_, err = w.Write(packed)
	return f, err
}

// packed reads the compressed bytes of a frame and verifies the checksum.
func (s *Snapshot) packed(f frame) ([]byte, error) {
	packed := make([]byte, f.Size) // check has limited the size to the file's
	if _, err := s.r.ReadAt(packed, f.At); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if sum := sha256.Sum256(packed); hex.EncodeToString(sum[:]) != f.SHA256 {
		return nil, errors.New("the checksum does not match")
	}
	return packed, nil
}

// metas reads the objects of a frame, one after the other. An error is the last.
func (s *Snapshot) metas(f frame) iter.Seq2[*catalog.Meta, error] {
	return func(yield func(*catalog.Meta, error) bool) {
		packed, err := s.packed(f)
		if err != nil {
			yield(nil, err)
			return
		}
		z, err := zstd.NewReader(bytes.NewReader(packed),
			zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			yield(nil, err)
			return
		}
		defer z.Close()
		for m, err := range readMetas(z, f.Unpacked) {
			if err != nil {
				err = fmt.Errorf("unpacking: %w", err)
			}
			if !yield(m, err) {
				return
			}
		}
	}
}

// check returns an error if a frame is not inside of the file.
func (f frame) check(size int64) error {
	if f.At < 0 || f.Size < 0 || f.At > size || f.Size > size-f.At || f.Unpacked < 0 || f.Unpacked > maxFrame {
		return errors.New("a frame is outside of the file or too large")
	}
	return nil
}
