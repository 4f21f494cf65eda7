package extension

import (
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/suggest"
)

// maxProblems is how many problems of one input are told.
const maxProblems = 100

// A reader gathers what one input has, and what is wrong with it.
type reader struct {
	file       string
	extensions []Extension
	catalogs   []Catalog
	problems   []error
	values     int
	depth      int
}

func (r *reader) fault(n *yaml.Node, format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, fmt.Errorf("%s:%d: %w", r.file, n.Line, fmt.Errorf(format, args...)))
	}
}

// resolve is the value that an alias stands for. It counts values, since aliases
// let a small input stand for a large one, and is nil when there are too many.
func (r *reader) resolve(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if r.values++; r.values > maxValues {
		if r.values == maxValues+1 {
			r.fault(n, "there are more than %d values; use fewer aliases", maxValues)
		}
		return nil
	}
	return n
}

// A member is a field that the API has, and what takes its value. A nil take
// passes over the value.
type member struct {
	name string
	take func(n *yaml.Node, path string)
	// required says that the API refuses an object without it.
	required bool
}

// fields takes a mapping whose members are those of the API. null is a mapping
// without members, as it is to the API.
func (r *reader) fields(n *yaml.Node, path string, members ...member) {
	if n = r.resolve(n); n == nil {
		return
	}
	if n.Kind != yaml.MappingNode && !isNull(n) {
		r.fault(n, "%s: found %s where a mapping is wanted", path, describe(n))
		return
	}
	if r.depth++; r.depth > maxDepth {
		r.depth--
		r.fault(n, "%s: nested too deep", path)
		return
	}
	defer func() { r.depth-- }()
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			r.fault(key, "%s: found %s where the name of a field is wanted", path, describe(key))
			continue
		}
		at := slices.IndexFunc(members, func(m member) bool { return m.name == key.Value })
		switch {
		case at < 0:
			var names []string
			for _, m := range members {
				names = append(names, m.name)
			}
			hint := suggest.Phrase(key.Value, names)
			if hint != "" {
				hint = "; " + hint
			}
			r.fault(key, "the API has no field %q, and would drop it%s", join(path, key.Value), hint)
		case seen[key.Value]:
			r.fault(key, "the field %q stands there twice; keep one", join(path, key.Value))
		default:
			if members[at].take != nil {
				members[at].take(n.Content[i+1], join(path, key.Value))
			}
		}
		seen[key.Value] = true
	}
	for _, m := range members {
		if m.required && !seen[m.name] {
			r.fault(n, "%s is missing", join(path, m.name))
		}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// text takes a string that check, which may be nil, has no objection to.
func (r *reader) text(into *string, check func(string) string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if n = r.resolve(n); n == nil {
			return
		}
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
			r.fault(n, "%s: found %s where a string is wanted; put it in quotes if it is one", path, describe(n))
			return
		}
		if check != nil {
			if reason := check(n.Value); reason != "" {
				r.fault(n, "%s: %s", path, reason)
				return
			}
		}
		*into = n.Value
	}
}

// integer takes a 32-bit integer.
func (r *reader) integer(into *int32) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if n = r.resolve(n); n == nil {
			return
		}
		value, err := strconv.ParseInt(n.Value, 10, 32)
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil {
			r.fault(n, "%s: found %s where an integer of 32 bits is wanted", path, describe(n))
			return
		}
		*into = int32(value)
	}
}

// list takes each element of a list; null has none.
func (r *reader) list(each func(n *yaml.Node, path string)) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if n = r.resolve(n); n == nil || isNull(n) {
			return
		}
		if n.Kind != yaml.SequenceNode {
			r.fault(n, "%s: found %s where a list is wanted", path, describe(n))
			return
		}
		for i, element := range n.Content {
			each(element, fmt.Sprintf("%s[%d]", path, i))
		}
	}
}

// pairs takes a mapping of strings to strings.
func (r *reader) pairs(into *map[string]string, check func(key, value string) string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if n = r.resolve(n); n == nil || isNull(n) {
			return
		}
		if n.Kind != yaml.MappingNode {
			r.fault(n, "%s: found %s where a mapping is wanted", path, describe(n))
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

// describe says what a value is.
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
