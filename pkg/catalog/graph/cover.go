package graph

import (
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// Covers reports whether every version in the skipRange of one entry lies in that
// of another, whatever versions there may be. An entry without a skipRange that
// can be read is covered by any. The answer is false where it is not certain.
func Covers(outer, inner catalog.Entry) bool {
	in, err := Range(inner)
	if err != nil || inner.SkipRange == "" || inner.SkipRange == outer.SkipRange {
		return true
	}
	out, err := Range(outer)
	if err != nil || outer.SkipRange == "" {
		return false
	}
	// What a range says changes at the versions that it names, and nowhere
	// between two of them. So it is enough to ask for these, for one version
	// just above each, and for the lowest there is.
	lowest := semver.Version{Pre: []semver.PRVersion{{IsNum: true}}}
	asked := []semver.Version{lowest}
	for _, text := range []string{outer.SkipRange, inner.SkipRange} {
		named, ok := bounds(text)
		if !ok {
			return false
		}
		for _, v := range named {
			asked = append(asked, v, above(v))
		}
	}
	for _, v := range asked {
		if in(v) && !out(v) {
			return false
		}
	}
	return true
}

// bounds are the versions that a range names. A wildcard names where it begins
// and where it ends. It is false where a version cannot be read.
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

// above is the lowest version that is higher.
func above(v semver.Version) semver.Version {
	next := semver.Version{Major: v.Major, Minor: v.Minor, Patch: v.Patch}
	if len(v.Pre) == 0 {
		next.Patch++
	}
	next.Pre = append(append(next.Pre, v.Pre...), semver.PRVersion{IsNum: true})
	return next
}
