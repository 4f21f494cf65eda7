//go:build !linux && !darwin

package space

import "errors"

// free is not available on this operating system.
func free(string) (int64, error) { return 0, errors.ErrUnsupported }

// isQuota reports whether the quota of the user is used up.
func isQuota(error) bool { return false }
