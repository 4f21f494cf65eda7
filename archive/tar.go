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
func prelude(path string, size int64) []byte {
	if len(path) <= 100 {
		return header(path, '0', size)
	}
	record := fmt.Sprintf("%d path=%s\n", 0, path)
	for n := 0; n != len(record); {
		n = len(record)
		record = fmt.Sprintf("%d path=%s\n", n, path)
	}
	out := header("gantry/pax", 'x', int64(len(record)))
	out = append(out, record...)
	out = append(out, make([]byte, padded(int64(len(record)))-int64(len(record)))...)
	return append(out, header(path[:100], '0', size)...)
}

// preludeSize is len(prelude(path, …)).
func preludeSize(path string) int64 {
	if len(path) <= 100 {
		return blockSize
	}
	return int64(len(prelude(path, 0)))
}

func header(name string, kind byte, size int64) []byte {
	h := make([]byte, blockSize)
	copy(h, name)
	copy(h[100:], "0000644\x00") // mode
	copy(h[108:], "0000000\x00") // uid
	copy(h[116:], "0000000\x00") // gid
	if size < maxOctal {
		copy(h[124:], fmt.Sprintf("%011o\x00", size))
	} else {
		h[124] = 0x80
		binary.BigEndian.PutUint64(h[128:], uint64(size))
	}
	copy(h[136:], "00000000000\x00") // mtime
	copy(h[148:], "        ")        // checksum, counted as blanks
	h[156] = kind
	copy(h[257:], "ustar\x0000")
	sum := 0
	for _, b := range h {
		sum += int(b)
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
	return h
}

// frame is the digest of all bytes of a volume that are not content, as the
// writer of this package lays them out.
func frame(entries []entry) digest.Digest {
	h := sha256.New()
	var zeros [trailerSize]byte
	for i := range entries {
		e := &entries[i]
		h.Write(prelude(e.path(), e.Size))
		h.Write(zeros[:padded(e.Size)-e.Size])
	}
	h.Write(zeros[:])
	return digest.NewDigest(digest.SHA256, h)
}
