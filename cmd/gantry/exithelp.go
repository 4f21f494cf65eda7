package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Descriptions of exit statuses that several verbs share.
const (
	helpUnauthorized = "a registry refused the credentials"
	helpLocked       = "the workspace or the destination is in use by another run"
	helpNoSpace      = "not enough disk space"
	helpArchive      = "the archive's signature is invalid, or it is not signed as required"
)

// exitCodes returns the part of a verb's help about its exit status: the statuses that every verb
// has, and those in codes.
func exitCodes(codes map[int]string) string {
	all := map[int]string{
		exitOK: "success", exitError: "error", exitUsage: "configuration or flags are wrong; nothing was changed", exitInterrupted: "interrupted",
	}
	maps.Copy(all, codes)
	var b strings.Builder
	b.WriteString("EXIT STATUS")
	for _, code := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "\n  %-4d %s", code, strings.ReplaceAll(all[code], "\n", "\n       "))
	}
	return b.String()
}
