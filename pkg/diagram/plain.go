package diagram

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// plain returns a text that is safe to show: without control characters, which could move a cursor
// or break a line, without characters that change the direction of writing, without spaces at the
// ends, and in valid UTF-8.
func plain(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			return ' '
		case unicode.Is(unicode.Bidi_Control, r), r >= 0xFFFE && r <= 0xFFFF:
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError))))
}

// shorten removes the middle of a text that has more than limit characters. The ends of names
// distinguish them.
func shorten(s string, limit int) string {
	runes := []rune(s)
	if len(runes) <= limit || limit < 3 {
		return s
	}
	tail := (limit - 1) / 2
	return string(runes[:limit-1-tail]) + "…" + string(runes[len(runes)-tail:])
}

// Few joins words. Of many it lists the first ones and counts the others: "a, b, c and 9 more".
func Few(words []string, limit int) string {
	if len(words) <= limit+1 { // "and 1 more" is no shorter than the word
		return strings.Join(words, ", ")
	}
	return fmt.Sprintf("%s and %s more", strings.Join(words[:limit], ", "), Count(len(words)-limit))
}

// Count formats a number with commas.
func Count(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// vocabulary looks up marks and kinds by their names.
type vocabulary struct {
	marks map[string]Mark
	kinds map[string]Kind
	// markOrder and kindOrder are the positions in the declarations.
	markOrder, kindOrder map[string]int
}

func (d *Drawing) vocabulary() vocabulary {
	v := vocabulary{map[string]Mark{}, map[string]Kind{}, map[string]int{}, map[string]int{}}
	for i, m := range d.Marks {
		v.marks[m.Name], v.markOrder[m.Name] = m, i
	}
	for i, k := range d.Kinds {
		v.kinds[k.Name], v.kindOrder[k.Name] = k, i
	}
	return v
}

// sorted returns the marks with these names in the order of the legend, without duplicates.
func (v vocabulary) sorted(names []string) []Mark {
	names = slices.Clone(names)
	elements.Sort(names, func(a, b string) int { return v.markOrder[a] - v.markOrder[b] })
	return elements.Map(slices.Compact(names), func(name string) Mark { return v.marks[name] })
}

// has reports whether one of the marks has a look.
func (v vocabulary) has(names []string, look Look) bool {
	return slices.ContainsFunc(names, func(name string) bool { return v.marks[name].Look == look })
}

// words returns the names of the marks as texts show them.
func (v vocabulary) words(names []string) []string {
	return elements.Map(v.sorted(names), func(m Mark) string { return plain(m.Name) })
}

// heading returns the title of a graph, with its marks.
func (v vocabulary) heading(g *Graph) string {
	title := plain(g.Title)
	if words := v.words(g.Marks); len(words) > 0 {
		title += " (" + strings.Join(words, ", ") + ")"
	}
	return title
}

// tooltip returns the lines of a node's tooltip.
func (n Node) tooltip(v vocabulary) []string {
	lines := []string{plain(n.ID)}
	if len(n.Names) > 0 {
		const shown = 20
		lines = nil
		for _, name := range n.Names[:min(shown, len(n.Names))] {
			lines = append(lines, plain(name))
		}
		if more := len(n.Names) - shown; more > 0 {
			lines = append(lines, "and "+Count(more)+" more")
		}
	}
	if words := v.words(n.Marks); len(words) > 0 {
		lines = append(lines, strings.Join(words, ", "))
	}
	return append(lines, factLines(n.Facts)...)
}

// tooltip returns the lines of an edge's tooltip.
func (e Edge) tooltip() []string {
	lines := []string{plain(e.To) + " " + plain(e.Kind) + " " + plain(e.From)}
	if e.Label != "" {
		lines = append(lines, plain(e.Label))
	}
	return append(lines, factLines(e.Facts)...)
}

func factLines(facts []Fact) []string {
	return elements.Map(facts, func(f Fact) string { return plain(f.Name) + ": " + plain(f.Value) })
}
