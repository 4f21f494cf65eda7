// Package tagrule selects tags of a repository by a rule.
//
// A Rule goes in, and New makes a Selector of it. The conditions of a rule are combined: a tag is
// selected if it meets all of them. Match applies the conditions that need only the names of tags
// (regular expressions, version ranges). Choose applies the others (the age of an image, the newest
// N), for which the caller reads when the images were created, if NeedsDates reports so. Neither
// depends on the order of the tags or on the clock, so the same tags and times give the same
// selection.
//
// Tags that belong to another image never match: signatures, attestations and the lists of referrers
// of registries without that API, which begin with the digest of the image ("sha256-<hex>.sig").
package tagrule

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A Rule says which tags of a repository are selected. The zero value selects all.
type Rule struct {
	// Regex, if not "", is a regular expression in Go syntax that the whole tag must match.
	Regex string
	// Semver, if not "", is a range of versions in the syntax of Masterminds/semver (">=1.2 <2",
	// "~1.4", "^2"). Tags that are not versions do not match. Prereleases match only if the range has
	// one, as in ">=1.2.0-0".
	Semver string
	// Exclude are regular expressions. A tag that one of them matches as a whole is not selected.
	Exclude []string
	// Before and After, if not zero, select images that were created before, or not before, a time.
	// An image without a time is not selected.
	Before, After time.Time
	// Newest, if not 0, is how many tags are selected: those with the highest versions if Semver is
	// set, or if all tags that meet the other conditions are versions; otherwise those whose images
	// were created last.
	Newest int
}

// A Selector is a Rule that was parsed.
type Selector struct {
	rule     Rule
	regex    *regexp.Regexp      // nil for any
	versions *semver.Constraints // nil for any
	exclude  []*regexp.Regexp
}

// New parses the expressions of a rule.
func New(r Rule) (*Selector, error) {
	s := &Selector{rule: r}
	var err error
	if r.Regex != "" {
		if s.regex, err = whole(r.Regex); err != nil {
			return nil, err
		}
	}
	for _, text := range r.Exclude {
		expression, err := whole(text)
		if err != nil {
			return nil, err
		}
		s.exclude = append(s.exclude, expression)
	}
	if r.Semver != "" {
		if s.versions, err = semver.NewConstraint(r.Semver); err != nil {
			return nil, fmt.Errorf("%q is not a range of versions: %w", r.Semver, err)
		}
	}
	return s, nil
}

// whole compiles a regular expression that matches only a whole text, as if it began with ^ and
// ended with $.
func whole(text string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(text); err != nil { // ")(" would be valid in parentheses
		return nil, err
	}
	return regexp.Compile(`^(?:` + text + `)$`)
}

// A Tag is a tag that Match returned.
type Tag struct {
	Name    string
	version *semver.Version // nil if the tag is not a version
}

// Match returns the tags that meet the conditions for names: the highest version first, then tags
// that are not versions, in reverse order of their names.
func (s *Selector) Match(tags []string) []Tag {
	var all []Tag
	for _, name := range tags {
		if t := parse(name); s.fails(t) == "" {
			all = append(all, t)
		}
	}
	elements.Sort(all, compare)
	return slices.CompactFunc(all, func(a, b Tag) bool { return a.Name == b.Name })
}

// The conditions of names that a tag may fail.
const (
	failsAttached   = "attached" // it belongs to another image
	failsRegex      = "regex"
	failsSemver     = "semver"
	failsPrerelease = "prerelease" // the range would match without "-rc.1"
	failsExclude    = "exclude"
)

// fails returns the first condition for names that a tag does not meet, or "".
func (s *Selector) fails(t Tag) string {
	excluded := slices.ContainsFunc(s.exclude, func(e *regexp.Regexp) bool { return e.MatchString(t.Name) })
	switch {
	case IsAttached(t.Name):
		return failsAttached
	case s.regex != nil && !s.regex.MatchString(t.Name):
		return failsRegex
	case s.versions == nil || t.version != nil && s.versions.Check(t.version):
		if excluded {
			return failsExclude
		}
		return ""
	case !excluded && t.version != nil && t.version.Prerelease() != "" && s.versions.Check(withoutPrerelease(t.version)):
		return failsPrerelease
	}
	return failsSemver
}

func withoutPrerelease(v *semver.Version) *semver.Version {
	return semver.New(v.Major(), v.Minor(), v.Patch(), "", "")
}

// minHex is the least number of hexadecimal digits of the digest in such a tag: the referrers tag of the
// distribution specification may shorten digests.
const minHex = 32

// IsAttached reports whether a tag belongs to another image by its name: it contains the digest of that image,
// as in "sha256-<hex>", "sha256-<hex>.sig", "sha256-<hex>.att" and "sha256-<hex>.sbom".
func IsAttached(tag string) bool {
	hex, ok := strings.CutPrefix(tag, "sha256-")
	if !ok {
		hex, ok = strings.CutPrefix(tag, "sha512-")
	}
	rest := strings.TrimLeft(hex, "0123456789abcdef")
	return ok && len(hex)-len(rest) >= minHex && (rest == "" || rest[0] == '.')
}

// parse reads a tag as a version: with or without a leading v, and with "_" for the "+" that tags cannot
// have, as Helm writes it.
func parse(name string) Tag {
	v, err := semver.NewVersion(strings.Replace(name, "_", "+", 1))
	if err != nil {
		return Tag{Name: name}
	}
	return Tag{Name: name, version: v}
}

// compare orders tags: the highest version first, the longer of two names of equal versions ("1.2.0",
// "1.2"), tags that are not versions last.
func compare(a, b Tag) int {
	switch {
	case a.version != nil && b.version != nil:
		return cmp.Or(b.version.Compare(a.version), cmp.Compare(len(b.Name), len(a.Name)), strings.Compare(b.Name, a.Name))
	case a.version != nil:
		return -1
	case b.version != nil:
		return 1
	}
	return strings.Compare(b.Name, a.Name)
}

// ByVersion reports whether Newest counts by version, not by the time of creation.
func (s *Selector) ByVersion(matched []Tag) bool {
	return s.versions != nil || !slices.ContainsFunc(matched, func(t Tag) bool { return t.version == nil })
}

// limitsAge reports whether an age limits the selection.
func (s *Selector) limitsAge() bool { return !s.rule.Before.IsZero() || !s.rule.After.IsZero() }

// NeedsDates reports whether Choose uses the dates when the images of the tags that Match returned
// were created.
func (s *Selector) NeedsDates(matched []Tag) bool {
	return s.limitsAge() || s.rule.Newest > 0 && len(matched) > s.rule.Newest && !s.ByVersion(matched)
}

// Enough reports whether no more images need to be read, in the order of Match, if found of those that
// were read meet the conditions for ages.
func (s *Selector) Enough(matched []Tag, found int) bool {
	return s.rule.Newest > 0 && s.ByVersion(matched) && found >= s.rule.Newest
}

// MeetsAge reports whether an image that was created at a time meets the conditions for ages. A zero
// time is unknown.
func (s *Selector) MeetsAge(created time.Time) bool {
	if s.limitsAge() && created.IsZero() {
		return false
	}
	return (s.rule.Before.IsZero() || created.Before(s.rule.Before)) && (s.rule.After.IsZero() || !created.Before(s.rule.After))
}

// Choose returns the names of the selected tags among those that Match returned, sorted. created are the
// times when the images were created; it may be nil unless NeedsDates.
func (s *Selector) Choose(matched []Tag, created map[string]time.Time) []string {
	kept := elements.Filter(matched, func(t Tag) bool { return s.MeetsAge(created[t.Name]) })
	if n := s.rule.Newest; n > 0 && len(kept) > n {
		if !s.ByVersion(matched) {
			elements.Sort(kept, func(a, b Tag) int { return created[b.Name].Compare(created[a.Name]) })
		}
		kept = kept[:n]
	}
	names := make([]string, len(kept))
	for i, t := range kept {
		names[i] = t.Name
	}
	slices.Sort(names)
	return names
}
