package fileartifact

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// Repository is the repository path in a mirror that has all files.
const Repository = "gantry/files"

const (
	maxName = 255 // bytes of a name
	maxTag  = 128 // of a tag
	// digestLength is how many hexadecimal digits of the digest a tag has.
	digestLength = 12
)

// CheckName returns an error unless s is a safe relative name, the same on every system: parts of printable
// characters between slashes. No part is "." or "..", begins with a dash, or ends in a dot or a space.
func CheckName(s string) error {
	switch {
	case s == "":
		return fmt.Errorf("it has no name")
	case len(s) > maxName || !utf8.ValidString(s):
		return fmt.Errorf("the name %.100q is longer than %d bytes, or is not UTF-8", s, maxName)
	case path.IsAbs(s) || path.Clean(s) != s || s == "." || s == ".." || strings.HasPrefix(s, "../"):
		return fmt.Errorf("the name %q is not a relative name below a folder", s)
	case strings.ContainsAny(s, `\:*?"<>|@`):
		return fmt.Errorf(`the name %q has one of the characters \ : * ? " < > | @`, s)
	}
	for _, r := range s {
		if !unicode.IsPrint(r) || unicode.Is(unicode.Bidi_Control, r) {
			return fmt.Errorf("the name %q has an invisible character", s)
		}
	}
	for part := range strings.SplitSeq(s, "/") {
		if strings.HasPrefix(part, "-") || strings.TrimRight(part, ". ") != part || strings.TrimSpace(part) != part {
			return fmt.Errorf("the part %q of the name begins with a dash, or has a space or a dot at its end", part)
		}
	}
	return nil
}

// Tag returns the tag for a name: the name if it is a tag, or a tag made of it.
func Tag(name string) string {
	if len(name) <= maxTag-digestLength-1 && reference.IsTag(name) {
		return name
	}
	tag := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '.' || r == '-') {
			return r
		}
		return '_'
	}, name)
	if tag[0] == '.' || tag[0] == '-' {
		tag = "_" + tag
	}
	hash := "-" + reference.ShortHash(name)
	return tag[:min(len(tag), maxTag-digestLength-1-len(hash))] + hash
}

// Tags returns the tags of a file in a mirror: the tag of its name, and the tag of its content.
func (f File) Tags() []string {
	tag := Tag(f.Name)
	return []string{tag, tag + "-" + f.Digest.Encoded()[:digestLength]}
}
