package imageset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/advice/redact"
)

// With aliases, a small file can describe a large configuration and repeat one mistake a million
// times. These limits prevent that. A file of maxSize without aliases has fewer useful values.
const (
	maxValues   = 500_000
	maxProblems = 1000
	maxWarnings = 10_000
)

// A reader collects the problems of one file while it is read.
type reader struct {
	file     string
	value    bool       // the text is a value of a program, without lines
	doc      *yaml.Node // the document that is read
	problems []Problem
	warnings []warning
	// at has the place of each field and list entry by its path ("mirror.operators[0].catalog"), for
	// checks of several fields.
	at      map[string]place
	format  func() shape // of a configuration, to find where an unknown field belongs
	values  int
	stopped bool
	merging []*yaml.Node // mappings being merged, outermost first
}

// A place is where a field or list entry is in the file.
type place struct {
	Position
	parent, key, value *yaml.Node // key is nil for a list entry
}

func (r *reader) position(n *yaml.Node) Position {
	if r.value {
		return Position{File: r.file}
	}
	return Position{File: r.file, Line: n.Line, Column: n.Column}
}

// fault reports a problem with the field or entry at path.
func (r *reader) fault(path, message, hint string) {
	r.faultAt(r.at[path].Position, path, message, hint)
}

func (r *reader) faultAt(pos Position, path, message, hint string) {
	if r.value {
		pos.File = r.file // the message has the path
	}
	switch {
	case r.stopped:
		return
	case len(r.problems) == maxProblems:
		r.stop(pos, fmt.Sprintf("more than %d problems; the rest was not read", maxProblems), "fix these first")
		return
	}
	if path != "" {
		message = path + ": " + message
	}
	r.problems = append(r.problems, Problem{Pos: pos, Message: message, Hint: hint})
}

func (r *reader) stop(pos Position, message, hint string) {
	r.problems = append(r.problems, Problem{Pos: pos, Message: message, Hint: hint})
	r.stopped = true
}

// step counts a value and reports whether to continue reading.
func (r *reader) step(n *yaml.Node) bool {
	if r.values++; r.values > maxValues && !r.stopped {
		r.stop(r.position(n), fmt.Sprintf("more than %d values", maxValues), "use fewer aliases, or split the configuration")
	}
	return !r.stopped
}

// A member is one field of a mapping.
type member struct {
	key, value *yaml.Node
}

// members returns the fields of a mapping in the order of the file, followed by the fields from its
// merge keys (<<) that it does not have itself.
func (r *reader) members(n *yaml.Node, path string) []member {
	var own, merged []member
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := resolve(n.Content[i]), n.Content[i+1]
		if !r.step(key) {
			return nil
		}
		if key.Kind != yaml.ScalarNode {
			r.faultAt(r.position(key), path, "found "+describe(key)+" where a field name is expected", "")
			continue
		}
		if key.ShortTag() == "!!merge" {
			merged = append(merged, r.merge(n, value, path)...)
			continue
		}
		if line, ok := lines[key.Value]; ok {
			r.faultAt(r.position(key), path, fmt.Sprintf("duplicate field %s, already on line %d", quote(key.Value), line),
				"remove one of the two")
			continue
		}
		lines[key.Value] = key.Line
		own = append(own, member{key, value})
	}
	for _, m := range merged {
		if _, ok := lines[m.key.Value]; !ok {
			lines[m.key.Value] = m.key.Line
			own = append(own, m)
		}
	}
	return own
}

// merge returns the fields that a merge key with the given value adds to mapping n. The value is a
// mapping or a list of mappings; the first mapping that has a field wins.
func (r *reader) merge(n, value *yaml.Node, path string) []member {
	pos := r.position(value)
	if slices.Contains(r.merging, n) {
		r.faultAt(pos, path, "the mapping is merged (<<) into itself", "remove the merge")
		return nil
	}
	r.merging = append(r.merging, n)
	defer func() { r.merging = r.merging[:len(r.merging)-1] }()

	sources := []*yaml.Node{value}
	if v := resolve(value); v.Kind == yaml.SequenceNode {
		sources = v.Content
	}
	var all []member
	for _, s := range sources {
		if s = resolve(s); s.Kind != yaml.MappingNode {
			r.faultAt(pos, path, "found "+describe(s)+" where a mapping to merge (<<) is expected", "")
			continue
		}
		all = append(all, r.members(s, path)...)
	}
	return all
}

// resolve returns the value of an alias, or n if it is not an alias.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool {
	n = resolve(n)
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// isEmpty reports whether a value is null or an empty text.
func isEmpty(n *yaml.Node) bool {
	return isNull(n) || resolve(n).Kind == yaml.ScalarNode && resolve(n).Value == ""
}

// describe describes a value for "found ..., expected ...".
func describe(n *yaml.Node) string {
	n = resolve(n)
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch tag := n.ShortTag(); tag {
	case "!!null":
		return "nothing"
	case "!!str":
		return "the string " + quote(n.Value)
	case "!!bool":
		return bare(n.Value)
	case "!!int", "!!float":
		return "the number " + bare(n.Value)
	case "!!timestamp":
		return "the date " + bare(n.Value)
	default:
		return "a value with the tag " + bare(tag)
	}
}

// quote returns s in quotes, shortened and without line breaks.
func quote(s string) string { return strconv.Quote(clip(s)) }

// bare returns s shortened, in quotes only if it has unprintable characters.
func bare(s string) string {
	if strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return quote(s)
	}
	return clip(s)
}

// clip returns s shortened, and without passwords and tokens.
func clip(s string) string {
	const most = 100
	s = redact.Text(s)
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
