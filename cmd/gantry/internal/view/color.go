package view

import (
	"regexp"
	"sync"
)

const (
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	normal = "\x1b[0m"
)

// failures and warnings match the words that name a problem, at the beginning of a line or in
// capitals. The words stay: color is only added to them.
var (
	failures = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^(?:gantry:|not mirrored:|not extracted:|not written:|Missing(?: at .*)?$|Not finished:|Nothing was mirrored)` +
			`|\b(?:NOT VERIFIED|STRANDED|FAILED|PARTIAL|INTERRUPTED|DOWNGRADED|DOES NOT RESOLVE|MISSING|NO)\b`)
	})
	warnings = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^(?:withheld:|excluded:|damaged,|warning:)|\bNOT MIRRORED\b`)
	})
)

// Highlight returns a text with color for the problems in it, for a terminal.
func Highlight(text string) string {
	text = failures().ReplaceAllString(text, red+"$0"+normal)
	return warnings().ReplaceAllString(text, yellow+"$0"+normal)
}
