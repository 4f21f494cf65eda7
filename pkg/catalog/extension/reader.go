package extension

import (
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// maxProblems is the maximum number of reported problems of one input.
const maxProblems = 100

// A reader collects the objects of one input, and its problems.
type reader struct {
	file       string
	extensions []Extension
	catalogs   []Catalog
	problems   []error
	values     int
	depth      int
}

func (r *reader) addProblem(n *yaml.Node, format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, fmt.Errorf("%s:%d: %w", r.file, n.Line, fmt.Errorf(format, args...)))
	}
}

// resolve returns the target of an alias. It counts values, because aliases can expand a small
// input to a large one, and returns nil if there are too many.
func (r *reader) resolve(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if r.values++; r.values > maxValues {
		if r.values == maxValues+1 {
			r.addProblem(n, "there are more than %d values; use fewer aliases", maxValues)
		}
		return nil
	}
	return n
}

// A field is a field of the API and the function that parses its value. If parse is nil, the value
// is ignored.
type field struct {
	name  string
	parse func(n *yaml.Node, path string)
	// required says that the API refuses an object without it.
	required bool
}

// fields reads a mapping with the fields of the API. As in the API, null is a mapping without
// fields.
func (r *reader) fields(n *yaml.Node, path string, fields ...field) {
	if n = r.resolve(n); n == nil {
		return
	}
	if n.Kind != yaml.MappingNode && !isNull(n) {
		r.addProblem(n, "%s: found %s, expected a mapping", path, describe(n))
		return
	}
	if r.depth++; r.depth > maxDepth {
		r.depth--
		r.addProblem(n, "%s: nested too deep", path)
		return
	}
	defer func() { r.depth-- }()
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			r.addProblem(key, "%s: found %s, expected the name of a field", path, describe(key))
			continue
		}
		at := slices.IndexFunc(fields, func(m field) bool { return m.name == key.Value })
		switch {
		case at < 0:
			names := elements.Map(fields, func(m field) string { return m.name })
			hint := suggest.Phrase(key.Value, names)
			if hint != "" {
				hint = "; " + hint
			}
			r.addProblem(key, "the API has no field %q and would drop it%s", join(path, key.Value), hint)
		case seen[key.Value]:
			r.addProblem(key, "the field %q is set twice; keep one", join(path, key.Value))
		default:
			if fields[at].parse != nil {
				fields[at].parse(n.Content[i+1], join(path, key.Value))
			}
		}
		seen[key.Value] = true
	}
	for _, m := range fields {
		if m.required && !seen[m.name] {
			r.addProblem(n, "%s is missing", join(path, m.name))
		}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// text reads a string. check, if not nil, returns what is wrong with it, or "".
func (r *reader) text(into *string, check func(string) string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if n = r.resolve(n); n == nil {
			return
		}
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
			r.addProblem(n, "%s: found %s, expected a string; quote it if it is one", path, describe(n))
			return
		}
		if check != nil {
			if reason := check(n.Value); reason != "" {
				r.addProblem(n, "%s: %s", path, reason)
				return
			}
		}
		*into = n.Value
	}
}

// integer reads a 32-bit integer.
func (r *reader) integer(into *int32) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if n = r.resolve(n); n == nil {
			return
		}
		value, err := strconv.ParseInt(n.Value, 10, 32)
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil {
			r.addProblem(n, "%s: found %s, expected an integer of 32 bits", path, describe(n))
			return
		}
		*into = int32(value)
	}
}

// list reads each element of a list; null is an empty list.
func (r *reader) list(each func(n *yaml.Node, path string)) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if n = r.resolve(n); n == nil || isNull(n) {
			return
		}
		if n.Kind != yaml.SequenceNode {
			r.addProblem(n, "%s: found %s, expected a list", path, describe(n))
			return
		}
		for i, element := range n.Content {
			each(element, fmt.Sprintf("%s[%d]", path, i))
		}
	}
}

// pairs reads a mapping of strings to strings.
func (r *reader) pairs(into *map[string]string, check func(key, value string) string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if n = r.resolve(n); n == nil || isNull(n) {
			return
		}
		if n.Kind != yaml.MappingNode {
			r.addProblem(n, "%s: found %s, expected a mapping", path, describe(n))
			return
		}
		*into = map[string]string{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			var value string
			r.text(&value, func(v string) string { return check(key.Value, v) })(n.Content[i+1], join(path, key.Value))
			(*into)[key.Value] = value
		}
	}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// describe names a value in messages.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(n):
		return "nothing"
	case len(n.Value) > 100:
		return "a long text"
	}
	return strconv.Quote(n.Value)
}
