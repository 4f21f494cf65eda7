//go:build !unix

package regular

import "io/fs"

// IsExposed returns false: file modes have no meaning on this system.
func IsExposed(fs.FileInfo) bool { return false }

// IsOwn returns true: the owners of files are unknown on this system.
func IsOwn(fs.FileInfo) bool { return true }
