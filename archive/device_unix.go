//go:build unix

package archive

import (
	"io/fs"
	"syscall"
)

// device tells the medium that a file lies on from others.
func device(info fs.FileInfo, _ int) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Dev) //nolint:unconvert // its type differs between systems
	}
	return 0
}
