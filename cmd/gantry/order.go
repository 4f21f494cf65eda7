package main

import (
	"slices"
	"strings"

	"github.com/blang/semver/v4"
)

// sortVersions sorts by semantic version; what is none comes first.
func sortVersions(all []string) {
	slices.SortStableFunc(all, compareVersions)
}

// compareVersions compares two semantic versions; what is none comes first.
func compareVersions(a, b string) int {
	va, errA := semver.Parse(a)
	vb, errB := semver.Parse(b)
	switch {
	case errA == nil && errB == nil:
		return va.Compare(vb)
	case errA != nil && errB != nil:
		return strings.Compare(a, b)
	case errA != nil:
		return -1
	}
	return 1
}
