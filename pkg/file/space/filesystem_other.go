//go:build !linux

package space

import "errors"

// FileSystem returns the kind of the file system of a folder. It is known on Linux only; the error is
// errors.ErrUnsupported.
func FileSystem(string) (string, error) { return "", errors.ErrUnsupported }
