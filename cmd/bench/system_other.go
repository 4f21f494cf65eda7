//go:build !linux

package main

import (
	"errors"
	"os"
)

// peak is not known here: systems count in different units, or not at all.
func peak(*os.ProcessState) int64 { return 0 }

// freeSpace is only asked for the folder in memory, which Linux has.
func freeSpace(string) (int64, error) { return 0, errors.ErrUnsupported }
