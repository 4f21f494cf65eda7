// Package suggest finds the names nearest to a misspelled one.
package suggest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// Nearest returns up to three candidates that word may have been meant to be, nearest first. It
// returns none if no candidate is close: at most a third of the letters may differ, unless a
// candidate contains the word.
func Nearest(word string, candidates []string) []string {
	type scored struct {
		name     string
		distance int
	}
	var near []scored
	seen := map[string]bool{}
	for _, c := range candidates {
		if c == "" || seen[c] {
			continue
		}
		seen[c] = true
		d := distance(strings.ToLower(word), strings.ToLower(c))
		contained := len(word) >= 3 && strings.Contains(strings.ToLower(c), strings.ToLower(word))
		if d <= max(len(word), len(c))/3 || contained {
			near = append(near, scored{c, d})
		}
	}
	longer := func(name string) int { return max(len(name)-len(word), len(word)-len(name)) } // swapped letters before missing ones
	slices.SortFunc(near, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(longer(a.name), longer(b.name)), strings.Compare(a.name, b.name))
	})
	return elements.Map(near[:min(3, len(near))], func(s scored) string { return s.name })
}

// Phrase returns the question that follows an error: `did you mean "a" or "b"?`. It is empty if
// Nearest returns nothing.
func Phrase(word string, candidates []string) string {
	quoted := elements.Map(Nearest(word, candidates), func(n string) string { return fmt.Sprintf("%q", n) })
	switch n := len(quoted); n {
	case 0:
		return ""
	case 1:
		return "did you mean " + quoted[0] + "?"
	default:
		return "did you mean " + strings.Join(quoted[:n-1], ", ") + " or " + quoted[n-1] + "?"
	}
}

// distance returns the number of letters to insert, delete, replace or swap with their neighbor to
// get from a to b (optimal string alignment).
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	before, last, row := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(s); i++ {
		row[0] = i
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(t)]
}
