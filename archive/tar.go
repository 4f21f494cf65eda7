package archive

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/opencontainers/go-digest"
)

const (
	blockSize   = 512
	trailerSize = 2 * blockSize
	// maxOctal is the first size that eleven octal digits cannot say: 8 GiB.
	maxOctal = 1 << 33
	// maxPrelude is the longest header.
	maxPrelude = 3 * blockSize
)

// padded is n rounded up to whole blocks.
func padded(n int64) int64 { return (n + blockSize - 1) &^ (blockSize - 1) }

// prelude returns what stands before the content of a file in a tar volume: a
// ustar header (POSIX.1-1988), and before it, for a path of more than 100 bytes,
// a pax header that has the path (POSIX.1-2001). Nothing in it depends on when,
// where or by whom it is written. A size of 8 GiB and more is in base 256, as
// GNU tar and all others since write it.
func prelude(path string, size int64) []byte { return appendPrelude(nil, path, size) }

// appendPrelude appends what prelude returns.
func appendPrelude(b []byte, path string, size int64) []byte {
	if len(path) <= 100 {
		return appendHeader(b, path, '0', size)
	}
	record := fmt.Sprintf("%d path=%s\n", 0, path)
	for n := 0; n != len(record); {
		n = len(record)
		record = fmt.Sprintf("%d path=%s\n", n, path)
	}
	b = appendHeader(b, "gantry/pax", 'x', int64(len(record)))
	b = append(b, record...)
	b = append(b, make([]byte, padded(int64(len(record)))-int64(len(record)))...)
	return appendHeader(b, path[:100], '0', size)
}

// preludeSize is len(prelude(path, …)).
func preludeSize(path string) int64 {
	if len(path) <= 100 {
		return blockSize
	}
	return int64(len(prelude(path, 0)))
}

func appendHeader(b []byte, name string, kind byte, size int64) []byte {
	var zeros [blockSize]byte
	b = append(b, zeros[:]...)
	h := b[len(b)-blockSize:]
	copy(h, name)
	copy(h[100:], "0000644\x00") // mode
	copy(h[108:], "0000000\x00") // uid
	copy(h[116:], "0000000\x00") // gid
	if size < maxOctal {
		octal(h[124:135], size)
	} else {
		h[124] = 0x80
		binary.BigEndian.PutUint64(h[128:], uint64(size))
	}
	copy(h[136:], "00000000000\x00") // mtime
	copy(h[148:], "        ")        // checksum, counted as blanks
	h[156] = kind
	copy(h[257:], "ustar\x0000")
	sum := int64(0)
	for _, c := range h {
		sum += int64(c)
	}
	octal(h[148:154], sum)
	h[154] = 0
	return b
}

// octal fills field with the octal digits of n.
func octal(field []byte, n int64) {
	for i := len(field) - 1; i >= 0; i-- {
		field[i] = '0' + byte(n&7)
		n >>= 3
	}
}

// frame is the digest of all bytes of a volume that are not content, as the
// writer of this package lays them out.
func frame(entries []entry) digest.Digest {
	h := sha256.New()
	var zeros [trailerSize]byte
	var before []byte
	for i := range entries {
		e := &entries[i]
		before = appendPrelude(before[:0], e.path(), e.Size)
		h.Write(before)
		h.Write(zeros[:padded(e.Size)-e.Size])
	}
	h.Write(zeros[:])
	return digest.NewDigest(digest.SHA256, h)
}
