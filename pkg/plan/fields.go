package plan

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// Limits of fields in bytes. The names of registries, packages and channels are much shorter.
const (
	maxText    = 4 << 10  // one line
	maxMessage = 64 << 10 // several lines
	maxQuoted  = 300      // of a value in an error
)

// quoted returns a value for an error: quoted, and cut off if it is long.
func quoted[S ~string](s S) string {
	if len(s) <= maxQuoted {
		return strconv.Quote(string(s))
	}
	at := maxQuoted
	for !utf8.RuneStart(s[at]) {
		at--
	}
	return strconv.Quote(string(s[:at])) + fmt.Sprintf("... (%d bytes)", len(s))
}

// nameOf returns the name of an entry for an error: as it is, or quoted if that is unsafe.
func nameOf[S ~string](s S) string {
	if s == "" || len(s) > maxQuoted || notPlain(string(s), false) >= 0 {
		return quoted(s)
	}
	return string(s)
}

// isPlain reports whether a character can be printed without moving the cursor or reordering
// other characters.
func isPlain(r rune) bool { return !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r) }

// notPlain returns the index of the first character that is not plain, or -1. Lines may end in "\n"
// or "\r\n" and contain tabs if there may be several.
func notPlain(s string, several bool) int {
	for i, r := range s {
		switch {
		case isPlain(r) || several && (r == '\n' || r == '\t'):
		case several && r == '\r' && strings.HasPrefix(s[i:], "\r\n"):
		default:
			return i
		}
	}
	return -1
}

// CleanMessage returns a message of a server for Missing.Message or Plan.Notes: control characters
// are escaped, and what is too long is cut off.
func CleanMessage(s string) string {
	if len(s) <= maxMessage && notPlain(s, true) < 0 && utf8.ValidString(s) {
		return s
	}
	const end = "..."
	var b strings.Builder
	for i, r := range s {
		piece := string(r)
		if r != '\n' && r != '\t' && !isPlain(r) && notPlain(s[i:i+len(piece)], true) == 0 {
			piece = strings.Trim(strconv.QuoteRuneToASCII(r), "'")
		}
		if b.Len()+len(piece) > maxMessage-len(end) {
			b.WriteString(end)
			break
		}
		b.WriteString(piece)
	}
	return b.String()
}

// checkText returns an error unless s is one line of plain text. what names the field.
func checkText[S ~string](what string, s S) error { return checkPlain(what, string(s), maxText, false) }

// checkLines returns an error unless s is plain text, which may have several lines.
func checkLines(what, s string) error { return checkPlain(what, s, maxMessage, true) }

func checkPlain(what, s string, limit int, several bool) error {
	if len(s) > limit {
		return fmt.Errorf("%s has %d bytes, more than %d: %s", what, len(s), limit, quoted(s))
	}
	if at := notPlain(s, several); at >= 0 {
		return fmt.Errorf("%s has a control character: %s", what, quoted(s[max(0, at-maxQuoted/2):]))
	}
	return nil
}

// checkTexts is checkText for pairs of a field and its value.
func checkTexts(pairs ...string) error {
	for i := 0; i+1 < len(pairs); i += 2 {
		if err := checkText(pairs[i], pairs[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// checkReference returns an error unless s is the reference of an image by tag or digest. If it has
// a digest, want is that digest or "".
func checkReference(what, s string, want digest.Digest) error {
	if len(s) > maxText {
		return fmt.Errorf("%s has %d bytes: %s", what, len(s), quoted(s))
	}
	ref, err := reference.Parse(s)
	switch {
	case err != nil:
		return fmt.Errorf("%s %s is not the reference of an image", what, nameOf(s))
	case ref.Identifier() == "":
		return fmt.Errorf("%s %s has neither a tag nor a digest", what, nameOf(s))
	case want != "" && ref.Digest != "" && ref.Digest != want:
		return fmt.Errorf("%s %s has another digest than %s", what, nameOf(s), want)
	}
	return nil
}

// checkSource is checkReference, but also accepts oci://DIR and dir://DIR.
func checkSource(what, s string, want digest.Digest) error {
	for _, scheme := range []string{layoutScheme, folderScheme} {
		if dir, ok := strings.CutPrefix(s, scheme); ok {
			if dir == "" {
				return fmt.Errorf("%s %s names no folder", what, quoted(s))
			}
			return checkText(what, s)
		}
	}
	return checkReference(what, s, want)
}

// checkDigest returns an error unless d is a digest.
func checkDigest(what string, d digest.Digest) error {
	if len(d) > maxText || !reference.IsKnownDigest(d) {
		return fmt.Errorf("%s, %s, is not a digest", what, quoted(d))
	}
	return nil
}

// checkTarget returns an error unless an image can be pushed to this repository and tag.
func checkTarget(repository, tag string) error {
	if !reference.IsPath(repository) {
		return fmt.Errorf("%s is not a repository path", quoted(repository))
	}
	if !reference.IsTag(tag) {
		return fmt.Errorf("%s is not a tag", quoted(tag))
	}
	return nil
}

// checkObject returns an error unless raw is a JSON object of plain texts.
func checkObject(what string, raw json.RawMessage) error {
	if len(raw) > maxValue {
		return fmt.Errorf("%s has %d bytes", what, len(raw))
	}
	text := jsontext.NewDecoder(strings.NewReader(string(raw)))
	if text.PeekKind() != '{' {
		return fmt.Errorf("%s is not an object", what)
	}
	for {
		t, err := text.ReadToken()
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if t.Kind() == '"' {
			if err := checkLines(what, t.String()); err != nil {
				return err
			}
		}
		if text.StackDepth() == 0 {
			return nil
		}
	}
}
