package imageset

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/suggest"
)

// maxText is the longest text, in bytes: that of a path on Linux.
const maxText = 4096

// A grammar says what a text may be, beside that it is printable, without
// space at its ends and no longer than max.
type grammar struct {
	max     int      // 0 means maxText
	pattern string   // for the JSON Schema; check holds to it
	known   []string // the only values there are
	clean   func(string) string
	// check returns what is wrong with a text and what to do, or "".
	check func(string) (message, hint string)
}

func (g grammar) limit() int {
	if g.max == 0 {
		return maxText
	}
	return g.max
}

// read returns the text n, or "" and a problem.
func (g grammar) read(r *reader, n *yaml.Node, path string) string {
	n = resolve(n)
	tag := n.ShortTag()
	number := tag == "!!int" || tag == "!!float" || tag == "!!bool" || tag == "!!timestamp"
	switch {
	case n.Kind == yaml.ScalarNode && tag == "!!str":
	case n.Kind == yaml.ScalarNode && number:
		hint := fmt.Sprintf("put it in quotes: %q", clip(n.Value))
		if _, better := g.fault(n.Value); better != "" {
			hint = better
		}
		r.fault(path, "found "+describe(n)+", wanted a text", hint)
		return ""
	default:
		r.fault(path, "found "+describe(n)+", wanted a text", "")
		return ""
	}
	s := n.Value
	if g.clean != nil {
		s = g.clean(s)
	}
	if message, hint := g.fault(s); message != "" {
		r.fault(path, message, hint)
		return ""
	}
	return s
}

func (g grammar) fault(s string) (message, hint string) {
	switch i := strings.IndexFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }); {
	case i >= 0:
		return quote(s) + " holds a character that cannot be seen", "type it anew; copying may have brought it along"
	case strings.TrimSpace(s) != s:
		return quote(s) + " has space at its ends", fmt.Sprintf("write %s", quote(strings.TrimSpace(s)))
	case len(s) > g.limit():
		return fmt.Sprintf("%s is %d bytes long, more than %d", quote(s), len(s), g.limit()), "shorten it"
	case g.check != nil:
		return g.check(s)
	}
	return "", ""
}

func (g grammar) shape(doc string) shape {
	s := shape{Description: doc, Type: []string{"string", "null"}, MaxLength: g.limit()}
	if g.pattern != "" {
		s.Pattern = "^$|" + g.pattern // an empty text is no text
	}
	for _, k := range g.known {
		s.Enum = append(s.Enum, k)
	}
	if s.Enum != nil {
		s.Enum = append(s.Enum, nil)
	}
	return s
}

// name is the grammar of packages, channels and bundles: names of Kubernetes
// objects, or parts of them, which are at most 253 bytes long.
func name() grammar {
	return grammar{max: 253, check: func(s string) (string, string) {
		if strings.ContainsAny(s, " ,") {
			return quote(s) + " is not one name", "give each name an entry of its own"
		}
		return "", ""
	}}
}

// expression is the grammar of a regular expression.
func expression() grammar {
	return grammar{check: func(s string) (string, string) {
		_, err := regexp.Compile(s)
		if err == nil {
			return "", ""
		}
		message := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		return quote(s) + " is not a regular expression: " + message,
			"the syntax is that of Go; a literal . * + ? ( ) [ ] needs a backslash before it"
	}}
}

// oneOf is the grammar of a word out of a list. aliases are other words for
// some of them.
func oneOf(what string, known []string, aliases map[string]string) grammar {
	return grammar{known: known, check: func(s string) (string, string) {
		if slices.Contains(known, s) {
			return "", ""
		}
		hint := suggest.Phrase(s, known)
		if better, ok := aliases[strings.ToLower(s)]; ok && slices.Contains(known, better) {
			hint = fmt.Sprintf("write %q", better)
		}
		if hint == "" {
			hint = "known are " + strings.Join(known, ", ")
		}
		return fmt.Sprintf("unknown %s %s", what, quote(s)), hint
	}}
}
