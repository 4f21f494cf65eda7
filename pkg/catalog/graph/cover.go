package graph

import (
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// Covers reports whether the skipRange of outer covers every version in the skipRange of inner,
// including versions that do not exist. An inner entry without a readable skipRange is always
// covered. The result is false if it is not certain.
func Covers(outer, inner catalog.Entry) bool {
	in, err := Range(inner)
	if err != nil || inner.SkipRange == "" || inner.SkipRange == outer.SkipRange {
		return true
	}
	out, err := Range(outer)
	if err != nil || outer.SkipRange == "" {
		return false
	}
	// The result of a range changes only at the versions that it names. So it is enough to test
	// these, a version just above each, and the lowest possible version.
	lowest := semver.Version{Pre: []semver.PRVersion{{IsNum: true}}}
	versions := []semver.Version{lowest}
	for _, text := range []string{outer.SkipRange, inner.SkipRange} {
		named, ok := bounds(text)
		if !ok {
			return false
		}
		for _, v := range named {
			versions = append(versions, v, above(v))
		}
	}
	return !slices.ContainsFunc(versions, func(v semver.Version) bool { return in(v) && !out(v) })
}

// bounds returns the versions that a range names. A wildcard names its start and its end. It
// returns false if a version cannot be parsed.
func bounds(text string) ([]semver.Version, bool) {
	var all []semver.Version
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("<>=!| ", r) }) {
		parts := strings.SplitN(word, ".", 3)
		for len(parts) < 3 {
			parts = append(parts, "x")
		}
		wild := false
		for i, part := range parts {
			if part == "x" || part == "x.x" {
				parts[i], wild = "0", true
			}
		}
		v, err := semver.Parse(strings.Join(parts, "."))
		if err != nil {
			return nil, false
		}
		all = append(all, v)
		if wild {
			all = append(all, semver.Version{Major: v.Major, Minor: v.Minor + 1}, semver.Version{Major: v.Major + 1})
		}
	}
	return all, true
}

// above returns the lowest version that is higher.
func above(v semver.Version) semver.Version {
	next := semver.Version{Major: v.Major, Minor: v.Minor, Patch: v.Patch}
	if len(v.Pre) == 0 {
		next.Patch++
	}
	next.Pre = append(append(next.Pre, v.Pre...), semver.PRVersion{IsNum: true})
	return next
}
