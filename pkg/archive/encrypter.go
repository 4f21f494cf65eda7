package archive

import (
	"bytes"
	"fmt"
	"io"
	"math/bits"

	"filippo.io/age"
)

const (
	// ageChunk is the number of bytes that an age file encrypts at once, and ageTag the number of
	// bytes that this adds.
	ageChunk = 64 << 10
	ageTag   = 16
	// minPadded is the least size in bytes that content is padded to, so that small files look
	// alike.
	minPadded = 4 << 10
)

// An encrypter encrypts files to one recipient and computes their sizes. Nil is for files that are
// not encrypted.
type encrypter struct {
	recipient age.Recipient
	header    int64 // the size of what precedes the first chunk, in bytes
	limit     int64 // the most that a file of a volume may have, in bytes
}

// newEncrypter returns an encrypter for volumes of volumeSize bytes.
func newEncrypter(recipient age.Recipient, volumeSize int64) (*encrypter, error) {
	var empty bytes.Buffer
	w, err := age.Encrypt(&empty, recipient)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("encrypting: %w", err)
	}
	s := &encrypter{recipient: recipient, header: int64(empty.Len()) - ageTag}
	s.limit = s.maxContent((volumeSize - labelSize - blockSize - trailerSize) / blockSize * blockSize)
	return s, nil
}

// headerSize returns the length of the tar header of an entry.
func (s *encrypter) headerSize(e *entry) int64 {
	if s != nil {
		return blockSize // no name of such a file is long
	}
	return tarHeaderSize(e.path())
}

// encryptedSize returns the length of an age file with size bytes of content.
func (s *encrypter) encryptedSize(size int64) int64 {
	if s == nil {
		return size
	}
	return s.header + size + max(1, (size+ageChunk-1)/ageChunk)*ageTag
}

// paddedSize is encryptedSize for content that is padded, so that its length reveals less.
func (s *encrypter) paddedSize(size int64) int64 {
	if s == nil {
		return size
	}
	filled := padme(max(size, minPadded))
	if filled > s.limit { // a volume has no room for that
		filled = max(size, s.limit)
	}
	return s.encryptedSize(filled)
}

// maxContent returns the length of the longest content whose file fits into room bytes.
func (s *encrypter) maxContent(room int64) int64 {
	if s == nil {
		return room
	}
	room -= s.header
	chunks := room / (ageChunk + ageTag)
	return max(0, chunks*ageChunk+max(0, room-chunks*(ageChunk+ageTag)-ageTag))
}

// contentSize returns the length of the content in an age file of size bytes.
func (s *encrypter) contentSize(size int64) int64 { return s.maxContent(size) }

// padme rounds size up so that, in binary, as many of its digits are zero as it has digits beyond
// those needed to write its number of digits. At most 12 percent are added, and the length reveals
// O(log log size) bits (Nikitin et al., "Reducing Metadata Leakage from Encrypted Files and
// Communication with PURBs", 2019).
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

// zeros reads as zeros without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// encrypt encrypts body, padded to the content of a file of size bytes. An error at the end of body
// is returned before the last bytes.
func (s *encrypter) encrypt(body io.Reader, content, size int64) (io.Reader, error) {
	fill := s.contentSize(size) - content
	return age.EncryptReader(io.MultiReader(body, io.LimitReader(zeros{}, fill)), s.recipient)
}
