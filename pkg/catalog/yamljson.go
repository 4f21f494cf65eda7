package catalog

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// yamlToJSON returns a YAML value as JSON, as OLM reads it with sigs.k8s.io/yaml: YAML 1.1 scalars
// (see [scalar]), member names that are numbers or booleans as strings, merge keys resolved.
// Differences: a duplicate member is an error, integers of any length are exact, and members keep
// their order. The tag "!", which turns a plain scalar into a string, is ignored, because the
// parser hides it.
func yamlToJSON(n *yaml.Node) ([]byte, error) {
	c := converter{}
	return c.value(nil, n, 0)
}

// A converter limits what aliases expand to.
type converter struct {
	visits int
}

// maxDepth is deeper than any manifest. It ends an alias to itself.
const maxDepth = 500

// value appends a node as JSON.
func (c *converter) value(out []byte, n *yaml.Node, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, nodeErrorf(n, "the YAML is more than %d levels deep", maxDepth)
	}
	if c.visits++; c.visits > maxObject || len(out) > maxObject {
		return nil, nodeErrorf(n, "the YAML's aliases make it larger than %d bytes", maxObject)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return c.value(out, n.Alias, depth+1)
	case yaml.MappingNode:
		return c.mapping(out, n, depth)
	case yaml.SequenceNode:
		out = append(out, '[')
		for i, element := range n.Content {
			if i > 0 {
				out = append(out, ',')
			}
			var err error
			if out, err = c.value(out, element, depth+1); err != nil {
				return nil, err
			}
		}
		return append(out, ']'), nil
	default:
		s, err := scalar(n)
		if err != nil {
			return nil, err
		}
		return s.appendJSON(out)
	}
}

// A pair is a member of a mapping, after merging.
type pair struct {
	name   string
	value  *yaml.Node
	merged bool // from a merge key, so the mapping may override it
}

func (c *converter) mapping(out []byte, n *yaml.Node, depth int) ([]byte, error) {
	pairs, err := c.pairs(n, depth)
	if err != nil {
		return nil, err
	}
	out = append(out, '{')
	for i, p := range pairs {
		if i > 0 {
			out = append(out, ',')
		}
		// Invalid UTF-8, from a !!binary, becomes U+FFFD as in OLM.
		out, _ = jsontext.AppendQuote(out, p.name)
		out = append(out, ':')
		if out, err = c.value(out, p.value, depth+1); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

// pairs returns the members of a mapping in their order. A merge key overrides the members before
// it and is overridden by those after it.
func (c *converter) pairs(n *yaml.Node, depth int) ([]pair, error) {
	var pairs []pair
	position := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if isMerge(key) {
			merged, err := c.merge(value, depth+1)
			if err != nil {
				return nil, err
			}
			for _, p := range merged {
				p.merged = true
				if at, ok := position[p.name]; ok {
					pairs[at] = p
					continue
				}
				position[p.name] = len(pairs)
				pairs = append(pairs, p)
			}
			continue
		}
		name, err := memberName(key)
		if err != nil {
			return nil, err
		}
		p := pair{name: name, value: value}
		if at, ok := position[name]; ok {
			if !pairs[at].merged {
				return nil, nodeErrorf(key, "duplicate member %q; keep one", name)
			}
			pairs[at] = p
			continue
		}
		position[name] = len(pairs)
		pairs = append(pairs, p)
	}
	return pairs, nil
}

// merge returns the members that a merge key adds: those of a mapping, or of several, where the
// first has priority.
func (c *converter) merge(n *yaml.Node, depth int) ([]pair, error) {
	if c.visits++; c.visits > maxObject || depth > maxDepth {
		return nil, nodeErrorf(n, "the YAML's merge keys are nested too deeply")
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch n.Kind {
	case yaml.MappingNode:
		pairs, err := c.pairs(n, depth)
		c.visits += len(pairs)
		return pairs, err
	case yaml.SequenceNode:
		var all []pair
		position := map[string]int{}
		for _, element := range slices.Backward(n.Content) {
			if element.Kind == yaml.SequenceNode || element.Kind == yaml.AliasNode && element.Alias.Kind == yaml.SequenceNode {
				return nil, nodeErrorf(element, "a merge key takes a mapping or a list of mappings")
			}
			pairs, err := c.merge(element, depth+1)
			if err != nil {
				return nil, err
			}
			for _, p := range pairs {
				if at, ok := position[p.name]; ok {
					all[at] = p
					continue
				}
				position[p.name] = len(all)
				all = append(all, p)
			}
		}
		return all, nil
	}
	return nil, nodeErrorf(n, "a merge key takes a mapping or a list of mappings")
}
