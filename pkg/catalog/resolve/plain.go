package resolve

import (
	"strconv"
	"strings"
	"unicode"
)

// printable returns text of a catalog for messages: shortened to 200 bytes, and quoted if it has
// unprintable characters, which a terminal might interpret.
func printable(s string) string {
	const most = 200
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// clip returns a sentence with text of a catalog, shortened to 600 bytes and with unprintable
// characters replaced.
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
