package diagram

import (
	"slices"
	"strings"
)

// Widths of printable ASCII in thousandths of the font size. They are those of Helvetica, which
// Arial and Liberation Sans share.
var glyphs = [...]struct {
	runes string
	width float64
}{
	{"ijl'", 222}, {"|", 260}, {" !,./:;I[\\]ft", 278}, {"()-`r{}", 333}, {"\"", 355}, {"*^", 430},
	{"Jckszvxy", 500}, {"#$0123456789?L_abdeghnopqu", 556}, {"+<=>~", 584}, {"FTZ", 611},
	{"&ABEKPSVXY", 667}, {"CDHNRUw", 722}, {"GOQ", 778}, {"Mm", 833}, {"%W", 944}, {"@", 1015},
}

// slack leaves space for wider fonts, because the viewer's font is unknown.
const slack = 1.13

// textWidth estimates the width of a text at a font size.
func textWidth(s string, size float64, bold bool) float64 {
	sum := 0.0
	for _, r := range s {
		sum += runeWidth(r)
	}
	if bold {
		sum *= 1.07
	}
	return sum * size * slack / 1000
}

func runeWidth(r rune) float64 {
	if r < 0x80 {
		for _, n := range glyphs {
			if strings.ContainsRune(n.runes, r) {
				return n.width
			}
		}
	}
	if r >= 0x1100 {
		return 1000 // wide scripts and symbols
	}
	return 620
}

// fit shortens a text to a width.
func fit(s string, width, size float64, bold bool) string {
	// More characters do not fit, even of the narrowest letters.
	s = shorten(s, int(width*1000/(size*slack*200))+3)
	for n := len([]rune(s)); n >= 3 && textWidth(s, size, bold) > width; n-- {
		s = shorten(s, n-1)
	}
	return s
}

// wrap breaks a text into lines between words. A word that is longer than a line is shortened.
func wrap(s string, width, size float64) []string {
	var lines []string
	for word := range strings.FieldsSeq(s) {
		word = fit(word, width, size, false)
		if n := len(lines); n > 0 && textWidth(lines[n-1]+" "+word, size, false) <= width {
			lines[n-1] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return slices.Clip(lines)
}
