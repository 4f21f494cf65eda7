//go:build !linux && !darwin

package space

import "errors"

// free is not known here: a full disk shows when it is full.
func free(string) (int64, error) { return 0, errors.ErrUnsupported }

// isQuota reports whether the user's share of the disk is used up.
func isQuota(error) bool { return false }
