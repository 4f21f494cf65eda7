package filter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// A span is an inclusive range of versions; a nil end is open. Versions compare by semver
// precedence: a pre-release is an ordinary version below its release, and build metadata does not
// count.
type span struct {
	min, max *semver.Version
}

func newSpan(r imageset.Range) (span, error) {
	var s span
	for _, end := range []struct {
		text string
		to   **semver.Version
	}{{r.Min, &s.min}, {r.Max, &s.max}} {
		if end.text == "" {
			continue
		}
		v, err := semver.Parse(end.text)
		if err != nil {
			return span{}, fmt.Errorf("reading version %q: %w", end.text, err)
		}
		*end.to = &v
	}
	return s, nil
}

func (s span) has(v semver.Version) bool {
	return (s.min == nil || v.GTE(*s.min)) && (s.max == nil || v.LTE(*s.max))
}

// String returns the range as it follows "no version".
func (s span) String() string {
	switch {
	case s.min == nil:
		return imageset.VersionText(s.max.String()) + " or lower"
	case s.max == nil:
		return s.min.String() + " or higher"
	case s.min.EQ(*s.max):
		return s.min.String()
	default:
		return "between " + s.min.String() + " and " + imageset.VersionText(s.max.String())
	}
}

// nearest returns "; the nearest is 1.2.0" with the highest version below the span and the lowest
// above it, or "" without versions.
func (s span) nearest(versions []semver.Version) string {
	var below, above *semver.Version
	for _, v := range elements.Sorted(slices.Values(versions), semver.Version.Compare) {
		if s.min != nil && v.LT(*s.min) {
			below = &v
		}
		if s.max != nil && v.GT(*s.max) && above == nil {
			above = &v
		}
	}
	var names []string
	for _, v := range []*semver.Version{below, above} {
		if v != nil {
			names = append(names, v.String())
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return "; the nearest is " + names[0]
	default:
		return "; the nearest are " + strings.Join(names, " and ")
	}
}
