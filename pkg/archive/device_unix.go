//go:build unix

package archive

import (
	"io/fs"
	"syscall"
)

// device identifies the device that a file is on.
func device(info fs.FileInfo, _ int) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Dev) //nolint:unconvert // its type differs between systems
	}
	return 0
}
