package imageset

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/imageset/tagrule"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// A TagRule selects tags of an additional image's repository. A tag has to meet all conditions that are
// set. At least one is set.
type TagRule struct {
	Pos Position
	// Regex is a regular expression that the whole tag must match; Exclude are those that it must not
	// match.
	Regex   string
	Exclude []string
	// Semver is a range of versions in the syntax of Masterminds/semver.
	Semver string
	// Newest is how many tags are selected; 0 for all. See [tagrule.Rule].
	Newest int64
	// OlderThan and NewerThan select images by when they were created. Each is an age in days or weeks
	// ("30d", "2w") or a date ("2026-01-31").
	OlderThan, NewerThan string
	// AllowNone accepts that no tag matches.
	AllowNone bool
}

// String returns the conditions on one line: `regex v4\..*, newest 3`.
func (t *TagRule) String() string {
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+" "+value)
		}
	}
	add("regex", t.Regex)
	add("semver", t.Semver)
	for _, e := range t.Exclude {
		add("exclude", e)
	}
	add("olderThan", t.OlderThan)
	add("newerThan", t.NewerThan)
	if t.Newest > 0 {
		add("newest", strconv.FormatInt(t.Newest, 10))
	}
	return strings.Join(parts, ", ")
}

// Selector returns the rule for matching. Ages count back from the day of now.
func (t *TagRule) Selector(now time.Time) (*tagrule.Selector, tagrule.Rule, error) {
	r := tagrule.Rule{Regex: t.Regex, Semver: t.Semver, Exclude: t.Exclude, Newest: int(t.Newest)}
	var err error
	if t.OlderThan != "" {
		if r.Before, err = tagrule.Cutoff(t.OlderThan, now); err != nil {
			return nil, r, err
		}
	}
	if t.NewerThan != "" {
		if r.After, err = tagrule.Cutoff(t.NewerThan, now); err != nil {
			return nil, r, err
		}
	}
	s, err := tagrule.New(r)
	return s, r, err
}

// maxNewest is the largest value of newest.
const maxNewest = 100_000

func tagRuleObject() object[TagRule] {
	return object[TagRule]{
		fields: []field[TagRule]{
			text("regex", "A regular expression that the whole tag must match.", func(t *TagRule) *string { return &t.Regex }, expression()),
			text("semver", "A range of versions that the tag must be in, such as >=1.2 <2; prereleases match only if the range has one.",
				func(t *TagRule) *string { return &t.Semver }, versionRange()),
			names("exclude", "Regular expressions for whole tags that are not mirrored.", func(t *TagRule) *[]string { return &t.Exclude }, expression()),
			number("newest", "Mirror only this many of the tags that match: the highest versions, or, if not all are versions, the images that were created last.",
				maxNewest, func(t *TagRule) *int64 { return &t.Newest }),
			text("olderThan", "Mirror only images that were created before this date, or at least this long ago: 30d, 2w or 2026-01-31.",
				func(t *TagRule) *string { return &t.OlderThan }, age()),
			text("newerThan", "Mirror only images that were created on this date or later, or at most this long ago: 30d, 2w or 2026-01-31.",
				func(t *TagRule) *string { return &t.NewerThan }, age()),
			flag("allowNone", "Accept that no tag matches.", func(t *TagRule) *bool { return &t.AllowNone }),
		},
		check: checkTagRule,
	}
}

// versionRange is the grammar of a range of versions.
func versionRange() grammar {
	return grammar{check: func(s string) (string, string) {
		if _, err := tagrule.New(tagrule.Rule{Semver: s}); err != nil {
			return quote(s) + " is not a range of versions", `write a range such as ">=1.2.0 <2", "~1.4" or "^2"`
		}
		return "", ""
	}}
}

// age is the grammar of an age or a date.
func age() grammar {
	return grammar{max: len(time.DateOnly), dates: true, pattern: `^([1-9][0-9]*[dw]|[0-9]{4}-[0-9]{2}-[0-9]{2})$`, check: func(s string) (string, string) {
		if _, err := tagrule.Cutoff(s, time.Unix(0, 0)); err != nil {
			hint := `write days ("30d"), weeks ("2w") or a date ("2026-01-31")`
			if hours, ok := strings.CutSuffix(s, "h"); ok {
				if n, err := strconv.Atoi(hours); err == nil && n > 0 && n%24 == 0 {
					hint = fmt.Sprintf("write \"%dd\"", n/24)
				}
			}
			return quote(s) + " is neither an age nor a date", hint
		}
		return "", ""
	}}
}

func checkTagRule(r *reader, path string, t *TagRule) {
	if t.AllowNone && t.String() == "" && len(r.problems) == 0 {
		r.fault(path, noCondition, allTags)
	}
	if t.OlderThan == "" || t.NewerThan == "" {
		return
	}
	// Two ages, or two dates, can be compared on any day.
	isDate := func(s string) bool { return strings.Contains(s, "-") }
	before, err := tagrule.Cutoff(t.OlderThan, time.Unix(0, 0))
	after, err2 := tagrule.Cutoff(t.NewerThan, time.Unix(0, 0))
	if err == nil && err2 == nil && isDate(t.OlderThan) == isDate(t.NewerThan) && !after.Before(before) {
		r.fault(join(path, "newerThan"), fmt.Sprintf("no image is both older than %s and newer than %s", t.OlderThan, t.NewerThan), "swap the two, or remove one")
	}
}

// The message and the hint for a rule without conditions.
const (
	noCondition = "has no condition that a tag has to meet"
	allTags     = "write `regex: \".*\"` for all tags"
)

// checkTags reports what cannot be combined with tags of an additional image. It returns false if the image
// has no tags.
func checkTags(r *reader, path string, i *Image) bool {
	tags, given := r.at[join(path, "tags")]
	switch {
	case !given:
		return false
	case i.Tags == nil && len(r.problems) == 0:
		r.fault(join(path, "tags"), noCondition, allTags)
		return true
	}
	at := join(path, "name")
	ref, err := reference.Parse(i.Name)
	switch {
	case strings.HasPrefix(i.Name, ociScheme):
		r.fault(join(path, "tags"), "tags selects tags of a repository in a registry, and "+quote(i.Name)+" is a folder", "remove tags")
	case i.Name == "" || err != nil: // reported already
	case ref.Identifier() != "":
		what := "tag"
		if ref.Digest != "" {
			what = "digest"
		}
		r.fault(at, fmt.Sprintf("%s has a %s, and tags%s selects others", quote(i.Name), what, atLine(tags.Line)),
			fmt.Sprintf("write %q, or remove tags", ref.Name()))
	case reference.IsShort(i.Name):
		r.warn(at, fmt.Sprintf("%s names no registry and is read as %s", quote(i.Name), quote(ref.Name())), setText(resolve(r.at[at].value), ref.Name()))
		i.Name = ref.Name()
	}
	if i.TargetTag != "" {
		r.fault(join(path, "targetTag"), fmt.Sprintf("targetTag cannot be combined with tags%s: each image keeps its own tag", atLine(tags.Line)), "remove one of the two")
	}
	return true
}
