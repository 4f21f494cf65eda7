//go:build linux || darwin

package archive

import (
	"io/fs"
	"math"
	"syscall"
)

// maxFAT is the largest file of FAT32, in bytes.
const maxFAT = 4<<30 - 1

// maxFileSize returns the largest file, in bytes, that the file system of dir is known to allow.
func maxFileSize(dir string) (int64, error) {
	fat, err := isFAT(dir)
	if err == nil && fat {
		return maxFAT, nil
	}
	return math.MaxInt64, err
}

// allocated returns the bytes that a file occupies on the disk, without holes.
func allocated(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return min(st.Blocks*512, info.Size()+blockSize)
	}
	return info.Size()
}
