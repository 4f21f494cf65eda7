//go:build !linux

package cputime

import "time"

// threadTime is not measured.
func threadTime() (time.Duration, bool) { return 0, false }
