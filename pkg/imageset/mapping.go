package imageset

import (
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// Limits of a mapping of any content.
const (
	maxMapping = 1 << 20 // bytes of JSON
	maxNesting = 100
)

// mapping is a field with a mapping of any content, as JSON; nil if it is not set. Plain texts mean what they
// mean in a file of Helm's values: yes is true, and a date is text.
func mapping[T any](name, doc string, get func(*T) *[]byte) field[T] {
	return field[T]{
		name: name,
		read: func(r *reader, n *yaml.Node, path string, into *T) {
			if resolve(n).Kind != yaml.MappingNode {
				r.fault(path, "found "+describe(n)+", expected a mapping", "write the values as in a file of values")
				return
			}
			v, ok := r.plain(n, path, 0)
			if !ok {
				return
			}
			text, err := json.Marshal(v)
			switch {
			case err != nil:
				r.fault(path, "it cannot be written as JSON: "+err.Error(), "")
			case len(text) > maxMapping:
				r.fault(path, fmt.Sprintf("it has more than %d bytes", maxMapping), "write it to a file, and name that under valuesFiles")
			case string(text) != "{}":
				*get(into) = text
			}
		},
		write: func(from *T) []byte {
			if len(*get(from)) == 0 {
				return nil
			}
			return *get(from)
		},
		shape: shape{Description: doc, Type: []string{"object", "null"}},
	}
}

// plain returns the value of a node for JSON. It reports what has no JSON.
func (r *reader) plain(n *yaml.Node, path string, depth int) (v any, ok bool) {
	if n = resolve(n); !r.step(n) {
		return nil, false
	}
	if depth > maxNesting {
		r.fault(path, fmt.Sprintf("its values nest deeper than %d", maxNesting), "")
		return nil, false
	}
	switch n.Kind {
	case yaml.MappingNode:
		all := map[string]any{}
		for _, m := range r.members(n, path) {
			if all[m.key.Value], ok = r.plain(m.value, path, depth+1); !ok {
				return nil, false
			}
		}
		return all, true
	case yaml.SequenceNode:
		all := []any{}
		for _, item := range n.Content {
			v, ok := r.plain(item, path, depth+1)
			if !ok {
				return nil, false
			}
			all = append(all, v)
		}
		return all, true
	}
	if n.Style&^yaml.TaggedStyle != 0 || n.ShortTag() == "!!str" && n.Style&yaml.TaggedStyle != 0 || n.ShortTag() == "!!timestamp" {
		return n.Value, true
	}
	text, err := sigsyaml.YAMLToJSON([]byte(n.Value))
	if err != nil || len(text) > 0 && (text[0] == '{' || text[0] == '[') {
		return n.Value, true // a text on several lines
	}
	return json.RawMessage(text), true
}
