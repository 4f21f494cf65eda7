//go:build !linux && !darwin

package archive

import (
	"errors"
	"io/fs"
)

// maxFileSize is not known on this system. Writing fails when a file is too large.
func maxFileSize(string) (int64, error) { return 0, errors.ErrUnsupported }

// allocated returns the bytes that a file occupies on the disk.
func allocated(info fs.FileInfo) int64 { return info.Size() }
