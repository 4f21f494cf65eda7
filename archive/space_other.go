//go:build !linux && !darwin

package archive

import (
	"errors"
	"io/fs"
)

// free is not known here: a full disk shows when it is full.
func free(string) (int64, error) { return 0, errors.ErrUnsupported }

// largestFile is not known here: a file that is too large shows when it is.
func largestFile(string) (int64, error) { return 0, errors.ErrUnsupported }

// allocated is how many bytes of the disk a file takes up.
func allocated(info fs.FileInfo) int64 { return info.Size() }

// isQuota reports whether the user's share of the disk is used up.
func isQuota(error) bool { return false }
