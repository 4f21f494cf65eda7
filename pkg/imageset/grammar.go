package imageset

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
)

// maxText is the maximum length of a string in bytes. It is the maximum length of a path on Linux.
const maxText = 4096

// A grammar is the rule for the values of a string field. Every value must also be printable, have
// no leading or trailing space (which is removed) and have at most max bytes.
type grammar struct {
	max     int      // 0 means maxText
	pattern string   // for the JSON Schema; check does not accept more
	known   []string // the only valid values, if any
	dates   bool     // a date need not be in quotes
	spaces  bool     // leading and trailing space may have a meaning
	// repair returns what a text means that is not written as it should be, if it can mean only one
	// thing, and why it is wrong: "has the prefix docker://". It returns other text unchanged.
	repair func(string) (better, why string)
	// check returns what is wrong with a text and what to do, or "".
	check func(string) (message, hint string)
	// late is set if text that check refuses is read, and refused only when it is used: oc mirror
	// reads it.
	late bool
}

// lateIn returns g for text that oc mirror does not check when it reads a file.
func (g grammar) lateIn() grammar {
	g.late = true
	return g
}

func (g grammar) limit() int {
	return cmp.Or(g.max, maxText)
}

// read returns the string n. It returns "" and reports a problem if n is invalid. Text of a late
// grammar that cannot be used is returned as it is.
func (g grammar) read(r *reader, n *yaml.Node, path string) string {
	n = resolve(n)
	tag := n.ShortTag()
	number := tag == "!!int" || tag == "!!float" || tag == "!!bool" || tag == "!!timestamp"
	if g.dates && tag == "!!timestamp" {
		tag, number = "!!str", false
	}
	if n.Kind != yaml.ScalarNode || tag != "!!str" && !number {
		r.fault(path, "found "+describe(n)+", expected a string", "")
		return ""
	}
	s, why := n.Value, ""
	if spaceless := strings.TrimSpace(s); !g.spaces && spaceless != s {
		s, why = spaceless, "has leading or trailing space"
	}
	if g.repair != nil {
		var also string
		if s, also = g.repair(s); also != "" {
			why = also
		}
	}
	message, hint := g.unprintable(s)
	invalid := message == "" && g.check != nil
	if invalid {
		message, hint = g.check(s)
	}
	switch {
	case message == "":
	case invalid && g.late:
		r.unusable(path, message, hint)
		return s
	case number:
		r.fault(path, "found "+describe(n)+", expected a string", hint)
		return ""
	default:
		r.fault(path, message, hint)
		return ""
	}
	switch {
	case s != n.Value:
		r.warn(path, fmt.Sprintf("%s %s and is read as %s", quote(n.Value), why, quote(s)), setText(n, s))
	case number:
		r.warn(path, fmt.Sprintf("found %s, expected a string; it is read as %s", describe(n), quote(s)), setText(n, s))
	}
	return s
}

// unprintable returns what is wrong with a text that no field accepts.
func (g grammar) unprintable(s string) (message, hint string) {
	switch i := strings.IndexFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }); {
	case i >= 0:
		return quote(s) + " contains an invisible character", "retype the value; the character may come from a copy and paste"
	case strings.TrimSpace(s) != s:
		return quote(s) + " has leading or trailing space", fmt.Sprintf("write %s", quote(strings.TrimSpace(s)))
	case len(s) > g.limit():
		return fmt.Sprintf("%s is %d bytes long, more than %d", quote(s), len(s), g.limit()), "shorten it"
	}
	return "", ""
}

func (g grammar) shape(doc string) shape {
	s := shape{Description: doc, Type: []string{"string", "null"}, MaxLength: g.limit()}
	if g.pattern != "" {
		s.Pattern = "^$|" + g.pattern // an empty string means unset
	}
	for _, k := range g.known {
		s.Enum = append(s.Enum, k)
	}
	if s.Enum != nil {
		s.Enum = append(s.Enum, "", nil) // which mean unset
	}
	return s
}

// name is the grammar of names of packages, channels and bundles. They are names of Kubernetes
// objects or parts of them, so they have at most 253 bytes.
func name() grammar {
	return grammar{max: 253, check: func(s string) (string, string) {
		if strings.ContainsAny(s, " ,") {
			return quote(s) + " is not a single name", "write one entry for each name"
		}
		return "", ""
	}}
}

// expression is the grammar of a regular expression.
func expression() grammar {
	return grammar{spaces: true, check: func(s string) (string, string) {
		_, err := regexp.Compile(s)
		if err == nil {
			return "", ""
		}
		message := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		return quote(s) + " is not a regular expression: " + message,
			"use Go syntax; escape a literal . * + ? ( ) [ ] with a backslash"
	}}
}

// oneOf is the grammar of a field with a list of known values. aliases maps other names to known
// values.
func oneOf(what string, known []string, aliases map[string]string) grammar {
	return grammar{known: known, check: func(s string) (string, string) {
		if slices.Contains(known, s) {
			return "", ""
		}
		hint := suggest.Phrase(s, known)
		if better, ok := aliases[strings.ToLower(s)]; ok && slices.Contains(known, better) {
			hint = fmt.Sprintf("write %q", better)
		}
		hint = cmp.Or(hint, "supported values: "+strings.Join(known, ", "))
		return fmt.Sprintf("unknown %s %s", what, quote(s)), hint
	}}
}

// nameOf is oneOf for fields whose other names can mean only one value. oc mirror reads all names.
func nameOf(what string, known []string, aliases map[string]string) grammar {
	g := oneOf(what, known, aliases).lateIn()
	g.repair = func(s string) (string, string) {
		lower := strings.ToLower(s)
		better, ok := aliases[lower]
		if slices.Contains(known, lower) {
			better, ok = lower, true
		}
		if slices.Contains(known, s) || !ok || !slices.Contains(known, better) {
			return s, ""
		}
		return better, "is another notation"
	}
	return g
}
