package tagrule

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// maxNearest is the number of tags that Nearest lists.
const maxNearest = 3

// Count returns how many of the tags name images, and not signatures or other content that belongs to images.
func Count(tags []string) int {
	n := 0
	for _, name := range tags {
		if !IsAttached(name) {
			n++
		}
	}
	return n
}

// Nearest explains, as a hint, why none of the tags matches, and lists those that come nearest. It is for
// tags when Match returns none.
func (s *Selector) Nearest(tags []string) string {
	failed := map[string][]Tag{}
	for _, name := range tags {
		t := parse(name)
		why := s.fails(t)
		failed[why] = append(failed[why], t)
	}
	for _, all := range failed {
		elements.Sort(all, compare)
	}
	switch {
	case len(failed[failsPrerelease]) > 0:
		return fmt.Sprintf("%s: a range matches prereleases only if it has one, such as %q", list(failed[failsPrerelease], "is a prerelease", "are prereleases"), ">=1.2.0-0")
	case len(failed[failsExclude]) > 0:
		return list(failed[failsExclude], "matches, but is excluded", "match, but are excluded")
	case len(failed[failsSemver]) > 0:
		versions := elements.Filter(failed[failsSemver], func(t Tag) bool { return t.version != nil })
		if len(versions) == 0 {
			return fmt.Sprintf("no tag is a version; it has %s", names(failed[failsSemver]))
		}
		return fmt.Sprintf("the highest versions outside of %q are %s", s.rule.Semver, names(versions))
	case len(failed[failsRegex]) > 0:
		if inside := s.inside(failed[failsRegex]); len(inside) > 0 {
			return fmt.Sprintf("regex must match the whole tag; for %s, write %q", names(inside), ".*"+s.rule.Regex+".*")
		}
		return "it has " + names(failed[failsRegex])
	case len(failed[failsAttached]) > 0:
		return "it has only signatures and other content that belongs to images"
	}
	return "the repository has no tags"
}

// inside returns the tags that regex matches in part.
func (s *Selector) inside(tags []Tag) []Tag {
	part, err := regexp.Compile(s.rule.Regex)
	if err != nil {
		return nil
	}
	return elements.Filter(tags, func(t Tag) bool { return part.MatchString(t.Name) })
}

// Unused returns the expressions of Exclude that match no tag as a whole, but a part of a selected one:
// they were probably meant to.
func (s *Selector) Unused(tags, selected []string) []string {
	var unused []string
	for i, text := range s.rule.Exclude {
		part, err := regexp.Compile(text)
		if err != nil || slices.ContainsFunc(tags, s.exclude[i].MatchString) {
			continue
		}
		if slices.ContainsFunc(selected, part.MatchString) {
			unused = append(unused, text)
		}
	}
	return unused
}

// names lists the first tags and counts the others.
func names(tags []Tag) string {
	all := elements.Map(tags[:min(maxNearest, len(tags))], func(t Tag) string { return t.Name })
	text := strings.Join(all, ", ")
	if more := len(tags) - maxNearest; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func list(tags []Tag, one, many string) string {
	if len(tags) == 1 {
		return names(tags) + " " + one
	}
	return names(tags) + " " + many
}
