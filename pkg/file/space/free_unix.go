//go:build linux || darwin

package space

import (
	"errors"
	"math"
	"syscall"

	"golang.org/x/sys/unix"
)

// free is Free of a folder that exists.
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
	blocks, size := uint64(st.Bavail), uint64(st.Bsize) //nolint:gosec,unconvert // other types on other systems
	if size != 0 && blocks > math.MaxInt64/size {
		return math.MaxInt64, nil
	}
	return int64(blocks * size), nil //nolint:gosec // checked above
}

// isQuota reports whether the quota of the user is used up.
func isQuota(err error) bool { return errors.Is(err, syscall.EDQUOT) }
