package suggest

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// number matches the numbers in a tag.
var number = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9]+`) })

// Tags returns up to three tags of a repository that are nearest to tag, which it does not have.
// Among tags that differ from it only in their numbers, as v4.20 from v4.99, these are the two before
// it and the one after it. If there are none, it is [Nearest].
func Tags(tag string, tags []string) []string {
	var same []string
	for _, t := range tags {
		if t != tag && number().ReplaceAllString(t, "0") == number().ReplaceAllString(tag, "0") {
			same = append(same, t)
		}
	}
	if len(same) == 0 {
		return Nearest(tag, tags)
	}
	slices.SortFunc(same, compareNumbers)
	same = slices.Compact(same)
	at, _ := slices.BinarySearchFunc(same, tag, compareNumbers)
	return same[max(at-2, 0):min(at+1, len(same))]
}

// compareNumbers compares tags that differ only in their numbers by these.
func compareNumbers(a, b string) int {
	x, y := number().FindAllString(a, -1), number().FindAllString(b, -1)
	return cmp.Or(slices.CompareFunc(x, y, func(m, n string) int {
		m, n = strings.TrimLeft(m, "0"), strings.TrimLeft(n, "0")
		return cmp.Or(cmp.Compare(len(m), len(n)), strings.Compare(m, n))
	}), strings.Compare(a, b))
}
