// Package density refuses texts that would take far more memory than their length when they are parsed. Texts of strangers
// are limited in length, but `{},` has three bytes and becomes a value of two hundred.
//
// Check counts what may begin a value before a text, JSON or YAML, is parsed. Texts that people and programs write have 20
// to 60 bytes for each value.
package density

import (
	"bytes"
	"fmt"
)

// The least bytes that a value has on average, and how many values any text may have.
const (
	minValue   = 8
	freeValues = 64 << 10
)

// Check returns an error if a text, JSON or YAML, has more values than a text of its length can have.
func Check(text []byte) error {
	n := 0
	for line := range bytes.Lines(text) {
		begun := 0
		for _, begin := range []string{",", "{", "[", "- ", "? "} {
			begun += bytes.Count(line, []byte(begin))
		}
		n += max(begun, 1)
	}
	if n > freeValues+len(text)/minValue {
		return fmt.Errorf("it has about %d values in %d bytes, and parsing it would take too much memory", n, len(text))
	}
	return nil
}
