//go:build unix

package sshsig

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// private refuses a file of this user that others can read, as ssh does.
func private(info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if ok && int(stat.Uid) == os.Getuid() && info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("others can read this private key (mode %04o): chmod 600 it", info.Mode().Perm())
	}
	return nil
}
