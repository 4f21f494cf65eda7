package archive

import (
	"errors"

	"golang.org/x/sys/unix"
)

// isFAT reports whether dir is on FAT32 or an older FAT.
func isFAT(dir string) (bool, error) {
	var st unix.Statfs_t
	for {
		err := unix.Statfs(dir, &st)
		if !errors.Is(err, unix.EINTR) {
			return err == nil && unix.ByteSliceToString(st.Fstypename[:]) == "msdos", err
		}
	}
}
