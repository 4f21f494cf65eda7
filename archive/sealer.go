package archive

import (
	"bytes"
	"fmt"
	"io"
	"math/bits"

	"filippo.io/age"
)

const (
	// sealedChunk is how many bytes an age file encrypts at once, and sealedTag what
	// that adds.
	sealedChunk = 64 << 10
	sealedTag   = 16
	// minSealed is what content is at least filled up to, in bytes, so that small
	// files look alike.
	minSealed = 4 << 10
)

// A sealer knows how large files are as age files to one recipient. Nil is for
// files that are not encrypted.
type sealer struct {
	recipient age.Recipient
	header    int64 // what stands before the first chunk, in bytes
	limit     int64 // the most that a file of a volume may have, in bytes
}

// newSealer is for volumes of volumeSize bytes.
func newSealer(recipient age.Recipient, volumeSize int64) (*sealer, error) {
	var empty bytes.Buffer
	w, err := age.Encrypt(&empty, recipient)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("encrypting: %w", err)
	}
	s := &sealer{recipient: recipient, header: int64(empty.Len()) - sealedTag}
	s.limit = s.most((volumeSize - labelSize - blockSize - trailerSize) / blockSize * blockSize)
	return s, nil
}

// prelude is the length of what stands before the file of an entry.
func (s *sealer) prelude(e *entry) int64 {
	if s != nil {
		return blockSize // no name of such a file is long
	}
	return preludeSize(e.path())
}

// sealed is the length of an age file of size bytes.
func (s *sealer) sealed(size int64) int64 {
	if s == nil {
		return size
	}
	return s.header + size + max(1, (size+sealedChunk-1)/sealedChunk)*sealedTag
}

// stored is sealed for content, which is filled up so that its length tells less.
func (s *sealer) stored(size int64) int64 {
	if s == nil {
		return size
	}
	filled := padme(max(size, minSealed))
	if filled > s.limit { // a volume has no room for that
		filled = max(size, s.limit)
	}
	return s.sealed(filled)
}

// most is the length of the longest content that fits into room bytes.
func (s *sealer) most(room int64) int64 {
	if s == nil {
		return room
	}
	room -= s.header
	chunks := room / (sealedChunk + sealedTag)
	return max(0, chunks*sealedChunk+max(0, room-chunks*(sealedChunk+sealedTag)-sealedTag))
}

// filled is the length of the content in an age file of size bytes.
func (s *sealer) filled(size int64) int64 { return s.most(size) }

// padme is size, rounded up so that of its digits as many are zero as it has
// digits beyond those that say how many it has: at most 12 percent are added, and
// the length tells O(log log size) bits (Nikitin et al., "Reducing Metadata Leakage
// from Encrypted Files and Communication with PURBs", 2019).
func padme(size int64) int64 {
	if size < 2 {
		return size
	}
	exponent := bits.Len64(uint64(size)) - 1
	zeros := exponent
	for left := exponent; left > 0; left >>= 1 {
		zeros--
	}
	mask := int64(1)<<zeros - 1
	return (size + mask) &^ mask
}

// A zeros reads as zeros without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// seal encrypts body, which is filled up to the content of a file of size bytes. What
// body says at its end is said before the last bytes are out.
func (s *sealer) seal(body io.Reader, content, size int64) (io.Reader, error) {
	fill := s.filled(size) - content
	return age.EncryptReader(io.MultiReader(body, io.LimitReader(zeros{}, fill)), s.recipient)
}
