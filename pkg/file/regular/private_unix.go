//go:build unix

package regular

import (
	"io/fs"
	"os"
	"syscall"
)

// IsExposed reports whether other users can read or change a regular file of this user, which has a
// secret. It is false for the files of other users, whose modes this user cannot change.
func IsExposed(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && int(stat.Uid) == os.Getuid() && info.Mode().Perm()&0o077 != 0
}

// IsOwn reports whether a file belongs to this user. Another user could change it at any time.
func IsOwn(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
