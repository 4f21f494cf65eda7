package resolve

import (
	"strconv"
	"strings"
	"unicode"
)

// plain is text out of a catalog as people are shown it: cut where it is long,
// quoted where a terminal could take it for something else.
func plain(s string) string {
	const most = 200
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// clip is a sentence that was made of text out of a catalog, cut where it is
// long, without what a terminal could take for something else.
func clip(s string) string {
	const most = 600
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
