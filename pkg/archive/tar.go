package archive

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
)

const (
	blockSize   = 512
	trailerSize = 2 * blockSize
	// maxOctal is the first size that does not fit into eleven octal digits: 8 GiB.
	maxOctal = 1 << 33
	// maxTarHeader is the longest header.
	maxTarHeader = 3 * blockSize
)

// padded rounds n up to whole blocks.
func padded(n int64) int64 { return (n + blockSize - 1) &^ (blockSize - 1) }

// tarHeader returns what precedes the content of a file in a tar volume: a ustar header
// (POSIX.1-1988), and before it, for a path of more than 100 bytes, a pax header with the path
// (POSIX.1-2001). It does not depend on when, where or by whom it is written. A size of 8 GiB and
// more is in base 256, as GNU tar and all later ones write it.
func tarHeader(path string, size int64) []byte { return appendTarHeader(nil, path, size) }

// appendTarHeader appends tarHeader(path, size).
func appendTarHeader(b []byte, path string, size int64) []byte {
	if len(path) <= 100 {
		return appendUstar(b, path, '0', size)
	}
	record := fmt.Sprintf("%d path=%s\n", 0, path)
	for n := 0; n != len(record); {
		n = len(record)
		record = fmt.Sprintf("%d path=%s\n", n, path)
	}
	b = appendUstar(b, "gantry/pax", 'x', int64(len(record)))
	b = append(b, record...)
	b = append(b, make([]byte, padded(int64(len(record)))-int64(len(record)))...)
	return appendUstar(b, path[:100], '0', size)
}

// tarHeaderSize returns len(tarHeader(path, …)).
func tarHeaderSize(path string) int64 {
	if len(path) <= 100 {
		return blockSize
	}
	return int64(len(tarHeader(path, 0)))
}

func appendUstar(b []byte, name string, kind byte, size int64) []byte {
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

// frame returns the digest of all bytes of a volume that are not content, as this package writes
// them.
func frame(entries []entry) digest.Digest {
	h := sha256.New()
	var zeros [trailerSize]byte
	var before []byte
	for i := range entries {
		e := &entries[i]
		before = appendTarHeader(before[:0], e.path(), e.Size)
		h.Write(before)
		h.Write(zeros[:padded(e.Size)-e.Size])
	}
	h.Write(zeros[:])
	return digest.NewDigest(digest.SHA256, h)
}

// eachFile calls do for each file of a volume until that returns false, and reads no content.
func eachFile(f io.ReaderAt, size int64, limit int, do func(tarFile) bool) error {
	section := io.NewSectionReader(f, 0, size)
	for in, n := tar.NewReader(section), 0; ; n++ {
		h, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if n == limit {
			return fmt.Errorf("it has more than %d files", limit)
		}
		at, err := section.Seek(0, io.SeekCurrent)
		if err != nil {
			return err
		}
		if !do(tarFile{h.Name, at, h.Size}) {
			return nil
		}
	}
}

// A tarFile is a file in a volume, as its header describes it.
type tarFile struct {
	path         string
	offset, size int64
}
