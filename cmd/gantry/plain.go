package main

import (
	"io"
	"strings"
	"unicode"
)

// text writes the result for people to stdout.
func (a *app) text(text string) error {
	_, err := io.WriteString(a.stdout, plain(text))
	return err
}

// plain is text for people without what a terminal could take for more than text.
// Names and messages come out of catalogs, update graphs, releases and registries.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsGraphic(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// oneLine is a text of a stranger for one line of a terminal.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) }), " ")
}
