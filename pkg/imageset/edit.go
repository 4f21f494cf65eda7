package imageset

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// Fixes change the nodes that were read. Several fixes of one file do not depend on each other: they
// find nodes by identity, not by index. A file with aliases is expanded first (expand.go), so that
// no node is in two places.

// setText returns the fix that replaces a value by a string.
func setText(n *yaml.Node, s string) func() {
	return func() {
		style := n.Style & (yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle)
		n.Kind, n.Tag, n.Value, n.Content, n.Style = yaml.ScalarNode, "!!str", s, nil, style
	}
}

// setPlain returns the fix that replaces a value by a number or Boolean.
func setPlain(n *yaml.Node, tag, s string) func() {
	return func() { n.Kind, n.Tag, n.Value, n.Style = yaml.ScalarNode, tag, s, 0 }
}

// rename returns the fix that gives a field another name.
func rename(key *yaml.Node, name string) func() {
	return func() { setText(key, name)() }
}

// drop returns the fix that removes the field or list entry at path. Comments above and below it
// stay.
func (r *reader) drop(path string) func() {
	p := r.at[path]
	return func() {
		first, width := p.value, 1
		if p.key != nil {
			first, width = p.key, 2
		}
		i := slices.Index(p.parent.Content, first)
		if i < 0 {
			return
		}
		above, below := commentsAround(p.parent.Content[i : i+width])
		p.parent.Content = slices.Delete(p.parent.Content, i, i+width)
		comment, rest := joinComments(above, below), p.parent.Content
		switch {
		case comment == "":
		case i < len(rest):
			rest[i].HeadComment = joinComments(comment, rest[i].HeadComment)
		case i > 0:
			last := lastOf(rest[i-width : i])
			last.FootComment = joinComments(last.FootComment, comment)
		}
	}
}

// commentsAround returns the comments above the first and below the last line of a field or list
// entry.
func commentsAround(nodes []*yaml.Node) (above, below string) {
	for n := nodes[0]; above == "" && n != nil; {
		above = n.HeadComment
		if len(n.Content) == 0 {
			break
		}
		n = n.Content[0]
	}
	return above, lastOf(nodes).FootComment
}

// lastOf returns the node that has the comment below a field or list entry: the last entry of the
// last list in it, or else the last key.
func lastOf(nodes []*yaml.Node) *yaml.Node {
	n := nodes[len(nodes)-1]
	switch {
	case n.Style&yaml.FlowStyle != 0 || len(n.Content) == 0:
		return nodes[0]
	case n.Kind == yaml.MappingNode:
		return lastOf(n.Content[len(n.Content)-2:])
	}
	return lastOf(n.Content[len(n.Content)-1:])
}

// joinComments returns two comments as one.
func joinComments(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// insert returns the fix that adds a field with a string to the mapping at path: after the field
// named after, or first if that is "".
func (r *reader) insert(path, after, name, value string) func() {
	mapping := resolve(r.at[path].value)
	return func() {
		i := 0
		for j := 0; j+1 < len(mapping.Content); j += 2 {
			if after != "" && mapping.Content[j].Value == after {
				i = j + 2
			}
		}
		key, text := &yaml.Node{Kind: yaml.ScalarNode, Value: name}, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
		if i == 0 && len(mapping.Content) > 0 {
			key.HeadComment, mapping.Content[0].HeadComment = mapping.Content[0].HeadComment, ""
		}
		mapping.Content = slices.Insert(mapping.Content, i, key, text)
	}
}

// fixAll returns the fix that applies several.
func fixAll(fixes ...func()) func() {
	return func() {
		for _, f := range fixes {
			f()
		}
	}
}
