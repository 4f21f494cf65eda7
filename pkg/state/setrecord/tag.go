package setrecord

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

const (
	maxName = 255 // bytes of the name of an image set
	maxTag  = 128 // of a tag
	digits  = 12  // hexadecimal digits in the tag of a revision
	// maxNumber is the highest number of a revision.
	maxNumber = 1 << 30
	// revisionLength is how long the part of a tag may be that follows the name: ".t1073741824." and digits.
	revisionLength = len(".t1073741824.") + digits
)

// Tag returns the tag for the name of an image set: the name if it is a tag, or a tag made of it and a hash.
func Tag(name string) string {
	if len(name) <= maxTag-revisionLength && reference.IsTag(name) && !isOther(name) {
		if _, ok := parseRevisionTag(name); !ok {
			return name
		}
	}
	tag := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-') {
			return r
		}
		return '_'
	}, name)
	if tag == "" || tag[0] == '-' {
		tag = "_" + tag
	}
	hash := "-" + reference.ShortHash(name)
	return tag[:min(len(tag), maxTag-revisionLength-len(hash))] + hash
}

// isOther reports whether a tag belongs to no image set: clients that sign a manifest, or list its referrers,
// add tags that are made of its digest.
func isOther(tag string) bool {
	hex, ok := strings.CutPrefix(tag, "sha256-")
	return ok && len(hex) >= 64 && strings.Trim(hex[:64], "0123456789abcdef") == ""
}

// A revisionTag is the tag of a revision in its parts.
type revisionTag struct {
	set    string // the tag of the image set
	number int
	digits string
}

func (t revisionTag) String() string { return fmt.Sprintf("%s.t%d.%s", t.set, t.number, t.digits) }

// parseRevisionTag returns the parts of a tag that belongs to a revision.
func parseRevisionTag(tag string) (revisionTag, bool) {
	var t revisionTag
	at := strings.LastIndexByte(tag, '.')
	if at < 0 {
		return t, false
	}
	tag, t.digits = tag[:at], tag[at+1:]
	if len(t.digits) != digits || strings.Trim(t.digits, "0123456789abcdef") != "" {
		return t, false
	}
	if at = strings.LastIndex(tag, ".t"); at < 1 {
		return t, false
	}
	n, err := strconv.Atoi(tag[at+2:])
	if err != nil || n < 1 || n > maxNumber || strconv.Itoa(n) != tag[at+2:] {
		return t, false
	}
	t.set, t.number = tag[:at], n
	return t, true
}

// A Listed is an image set by the tags of the mirror.
type Listed struct {
	// Tag is the one of the image set. It may be missing: then Current is false, and the newest revision applies.
	Tag       string
	Current   bool
	revisions []revisionTag // sorted by number
}

// Newest returns the number of the newest revision and its digits. The number is 0 if there are none.
func (l *Listed) Newest() (number int, digits string) {
	if len(l.revisions) == 0 {
		return 0, ""
	}
	last := l.revisions[len(l.revisions)-1]
	return last.number, last.digits
}

// Has reports whether the list has a revision as the newest of its image set, and as the only one with its number:
// then it is what the mirror has of the image set.
func (l *Listed) Has(t *Revision) bool {
	n := len(l.revisions)
	return n > 0 && l.revisions[n-1].String() == t.Tag() && (n == 1 || l.revisions[n-2].number != t.Number)
}

// listTags returns the image sets of a list of tags, sorted by tag.
func listTags(tags []string) []Listed {
	sets := map[string]*Listed{}
	get := func(tag string) *Listed {
		if sets[tag] == nil {
			sets[tag] = &Listed{Tag: tag}
		}
		return sets[tag]
	}
	for _, tag := range tags {
		if t, ok := parseRevisionTag(tag); ok {
			s := get(t.set)
			s.revisions = append(s.revisions, t)
		} else if !isOther(tag) {
			get(tag).Current = true
		}
	}
	list := make([]Listed, 0, len(sets))
	for _, s := range sets {
		elements.Sort(s.revisions, func(a, b revisionTag) int {
			return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.digits, b.digits))
		})
		s.revisions = slices.Compact(s.revisions)
		list = append(list, *s)
	}
	elements.Sort(list, func(a, b Listed) int { return cmp.Compare(a.Tag, b.Tag) })
	return list
}
