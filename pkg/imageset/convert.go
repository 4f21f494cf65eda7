package imageset

import (
	"bytes"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// A Conversion is a configuration that was written again, without what Parse warns about.
type Conversion struct {
	// Config is the configuration of the original. Text is read as the same, except for positions and
	// warnings. It is the original if there is nothing to change.
	Config *Config
	Text   []byte
	// Changed are the warnings about the original that Text does not have.
	Changed []Problem
	// Left are the warnings about what has no other form. Their positions are those of the original.
	Left []Problem
}

// Convert rewrites a configuration as v2alpha1: names, cases and versions as they are read, without
// repeated entries and without what has no effect. The order and the comments stay. In a file that is
// changed, aliases and merge keys are replaced by what they stand for.
func Convert(file string, text []byte) (*Conversion, error) {
	r := newReader(file)
	root, err := r.parse(text)
	if err != nil {
		return nil, err
	}
	out := &Conversion{Text: text}
	if out.Config, err = r.config(root); err != nil {
		return nil, err
	}
	for _, w := range r.warnings {
		if w.fix == nil {
			out.Left = append(out.Left, problemsOf([]warning{w})...)
		} else {
			out.Changed = append(out.Changed, w.Problem)
		}
	}
	if len(out.Changed) == 0 {
		return out, nil
	}
	// The parser keeps comments, but not empty lines, and may write comments where they change the
	// document.
	for _, attempt := range []func() ([]byte, error){
		func() ([]byte, error) {
			marked, err := rewrite(file, markEmptyLines(text), true)
			return unmarkEmptyLines(marked), err
		},
		func() ([]byte, error) { return rewrite(file, text, true) },
	} {
		if out.Text, err = attempt(); err == nil && out.same(file) {
			return out, nil
		}
	}
	if out.Text, err = rewrite(file, text, false); err != nil {
		return nil, err
	}
	if !out.same(file) {
		return nil, advice.New(advice.Failure, "make the changes that gantry config check lists", "converting %s: the result would not be read as the same configuration", file)
	}
	out.Left = append(out.Left, Problem{Pos: Position{File: file}, Message: "its comments cannot be kept"})
	return out, nil
}

// rewrite reads a configuration, applies the fixes of all warnings, and writes it with its line ends.
func rewrite(file string, text []byte, comments bool) ([]byte, error) {
	if crlf := []byte("\r\n"); bytes.Contains(text, crlf) { // the parser loses comments there
		written, err := rewrite(file, bytes.ReplaceAll(text, crlf, []byte("\n")), comments)
		return bytes.ReplaceAll(written, []byte("\n"), crlf), err
	}
	r := newReader(file)
	root, err := r.parse(text)
	if err != nil {
		return nil, err
	}
	if root == nil {
		return nil, r.error()
	}
	doc := r.doc
	if hasAliases(doc) {
		e := expander{reader: &reader{at: map[string]place{}}}
		if doc = e.expand(doc); e.stopped {
			return nil, advice.New(advice.Failure, "write the configuration without aliases", "converting %s: more than %d values", file, maxValues)
		}
		r = newReader(file)
	}
	if _, err := r.config(doc.Content[0]); err != nil {
		return nil, fmt.Errorf("converting %s: %w", file, err)
	}
	for _, w := range r.warnings {
		if w.fix != nil {
			w.fix()
		}
	}
	if !comments {
		removeComments(doc)
	}
	return encode(doc, text)
}

// same reports whether the text is read as the configuration of the original, without other warnings
// than Left. There are fewer if one of them concerns a field that was removed.
func (c *Conversion) same(file string) bool {
	again, err := Parse(file, c.Text)
	if err != nil || len(again.Warnings) > len(c.Left) {
		return false
	}
	before, after := configObject().encode(c.Config), configObject().encode(again)
	return bytes.Equal(before, after)
}

// encode writes a document with the style of the original text.
func encode(doc *yaml.Node, original []byte) ([]byte, error) {
	var b bytes.Buffer
	if first := bytes.TrimLeft(original, "\ufeff \r\n"); bytes.HasPrefix(first, []byte("---")) {
		b.WriteString("---\n")
	}
	writeNulls(doc, false)
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if compactLists(doc) {
		e.CompactSeqIndent()
	}
	if err := e.Encode(doc); err != nil {
		return nil, err
	}
	if err := e.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// writeNulls makes empty values in flow style explicit: the encoder would write them as strings.
func writeNulls(n *yaml.Node, flow bool) {
	flow = flow || n.Style&yaml.FlowStyle != 0
	if flow && isNull(n) && n.Value == "" {
		n.Value = "null"
	}
	for _, child := range n.Content {
		writeNulls(child, flow)
	}
}

// compactLists reports whether the dashes of a list are below the first letter of its field.
func compactLists(n *yaml.Node) bool {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			if value.Kind == yaml.SequenceNode && value.Style&yaml.FlowStyle == 0 && value.Line > 0 {
				return value.Column == key.Column
			}
		}
	}
	return slices.ContainsFunc(n.Content, compactLists)
}

// emptyLine stands for an empty line while a file is rewritten.
const emptyLine = "#~empty line~"

// markEmptyLines replaces empty lines by comments, with the indentation of the next line.
func markEmptyLines(text []byte) []byte {
	end := "\n"
	if bytes.Contains(text, []byte("\r\n")) {
		end = "\r\n"
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	indent := []byte{}
	for i := len(lines) - 1; i >= 0; i-- {
		trimmed := bytes.TrimLeft(lines[i], " ")
		switch {
		case len(bytes.TrimSpace(lines[i])) > 0:
			indent = lines[i][:len(lines[i])-len(trimmed)]
		case len(lines[i]) > 0:
			lines[i] = slices.Concat(indent, []byte(emptyLine+end))
		}
	}
	return bytes.Join(lines, nil)
}

func unmarkEmptyLines(text []byte) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	var kept [][]byte
	for i, line := range lines {
		switch trimmed := bytes.TrimSpace(line); {
		case string(trimmed) == emptyLine:
			kept = append(kept, bytes.TrimLeft(line, " "+emptyLine))
		case len(trimmed) == 0 && i < len(lines)-1: // between two comments
		default:
			kept = append(kept, line)
		}
	}
	return bytes.Join(kept, nil)
}

func removeComments(n *yaml.Node) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	for _, child := range n.Content {
		removeComments(child)
	}
}

// hasAliases reports whether a node is in two places of the document.
func hasAliases(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, hasAliases)
}

// An expander copies a document and replaces aliases and merge keys by what they stand for.
type expander struct {
	*reader
	within []*yaml.Node // the nodes that are being copied, outermost first
}

func (e *expander) expand(n *yaml.Node) *yaml.Node {
	n = resolve(n)
	c := *n
	c.Anchor, c.Content = "", nil
	if !e.step(n) {
		return &c
	}
	if slices.Contains(e.within, n) { // an alias of its own parent, which no field reads
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	}
	e.within = append(e.within, n)
	defer func() { e.within = e.within[:len(e.within)-1] }()
	if n.Kind == yaml.MappingNode {
		for _, m := range e.members(n, "") {
			key := *m.key
			key.Anchor = ""
			c.Content = append(c.Content, &key, e.expand(m.value))
		}
		return &c
	}
	for _, child := range n.Content {
		c.Content = append(c.Content, e.expand(child))
	}
	return &c
}

// ConvertFile is Convert for the file at path.
func ConvertFile(path string) (*Conversion, error) {
	text, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Convert(path, text)
}
