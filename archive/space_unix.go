//go:build linux || darwin

package archive

import (
	"errors"
	"io/fs"
	"math"
	"syscall"

	"golang.org/x/sys/unix"
)

// free is how many bytes the file system of dir has for this user.
func free(dir string) (int64, error) {
	var st unix.Statfs_t
	for {
		err := unix.Statfs(dir, &st)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, err
		}
		break
	}
	blocks, size := uint64(st.Bavail), uint64(st.Bsize) //nolint:gosec,unconvert // of other types elsewhere
	if size != 0 && blocks > math.MaxInt64/size {
		return math.MaxInt64, nil
	}
	return int64(blocks * size), nil //nolint:gosec // checked above
}

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

// isQuota reports whether the user's share of the disk is used up.
func isQuota(err error) bool { return errors.Is(err, syscall.EDQUOT) }
