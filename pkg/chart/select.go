package chart

import (
	"fmt"
	"slices"

	"github.com/Masterminds/semver/v3"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A Selection says which versions of a chart are wanted. The zero value is the newest one that is no
// pre-release.
type Selection struct {
	// Version is a version, or a range whose newest version is wanted.
	Version string
	// Versions is a range whose versions are all wanted.
	Versions string
	// Newest, if it is not 0, limits Versions ("*" if it is empty) to the newest ones.
	Newest int
}

// checkRange returns an error unless s is a range of versions, as Helm reads it: ">=1.2.0 <2", "^1.2",
// "1.x". A version is a range, too.
func checkRange(s string) error {
	if _, err := semver.NewConstraint(s); err != nil {
		return fmt.Errorf("%q is not a range of versions such as \">=1.2.0 <2.0.0\"", s)
	}
	return nil
}

// Select returns the versions that are wanted, the newest first. What is not a semantic version is left
// out, and ranges without a pre-release contain none, as for Helm. Nothing is wanted if the result is empty.
func (s Selection) Select(all []string) ([]string, error) {
	if s.Version != "" && slices.Contains(all, s.Version) {
		return []string{s.Version}, nil
	}
	wanted, limit := s.Versions, s.Newest
	if s.Versions == "" {
		if wanted = s.Version; wanted == "" {
			wanted = "*"
		}
		limit = max(limit, 1)
	}
	c, err := semver.NewConstraint(wanted)
	if err != nil {
		return nil, checkRange(wanted)
	}
	type parsed struct {
		text string
		*semver.Version
	}
	var found []parsed
	for _, text := range all {
		if v, err := semver.NewVersion(text); err == nil && c.Check(v) {
			found = append(found, parsed{text, v})
		}
	}
	elements.Sort(found, func(a, b parsed) int { return b.Compare(a.Version) })
	var out []string
	for _, v := range found {
		if !slices.Contains(out, v.text) && (limit == 0 || len(out) < limit) {
			out = append(out, v.text)
		}
	}
	return out, nil
}
