//go:build linux || darwin

package archive

import (
	"io/fs"
	"math"
	"syscall"
)

// maxFAT is the largest file of FAT32, in bytes.
const maxFAT = 4<<30 - 1

// largestFile is the largest file, in bytes, that the file system of dir is known
// to take.
func largestFile(dir string) (int64, error) {
	fat, err := isFAT(dir)
	if err == nil && fat {
		return maxFAT, nil
	}
	return math.MaxInt64, err
}

// allocated is how many bytes of the disk a file takes up, holes not counted.
func allocated(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return min(st.Blocks*512, info.Size()+blockSize)
	}
	return info.Size()
}
