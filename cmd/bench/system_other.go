//go:build !linux

package main

import (
	"errors"
	"os"
)

// peak returns 0 for unknown: the unit differs between systems, and some do not count it.
func peak(*os.ProcessState) int64 { return 0 }

// freeSpace is only called for the folder in memory, which only Linux has.
func freeSpace(string) (int64, error) { return 0, errors.ErrUnsupported }
