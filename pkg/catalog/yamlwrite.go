package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/advice/escape"
)

// YAML returns the object as a YAML document, without the "---" before it: members in their order,
// multi-line texts as blocks, and strings that YAML 1.1 would read as another type in quotes.
// Control characters and those
// that change the direction of writing are escaped. Reading it gives the same object.
func (m *Meta) YAML() ([]byte, error) {
	text, err := m.Text()
	if err != nil {
		return nil, fmt.Errorf("writing %s %q as YAML: %w", m.Schema, m.Name, err)
	}
	dec := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowInvalidUTF8(true))
	node, err := yamlNode(dec)
	if err != nil {
		return nil, fmt.Errorf("writing %s %q as YAML: %w", m.Schema, m.Name, err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("writing %s %q as YAML: more than one object", m.Schema, m.Name)
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(node), enc.Close()); err != nil {
		return nil, fmt.Errorf("writing %s %q as YAML: %w", m.Schema, m.Name, err)
	}
	return escape.JSON(b.Bytes()), nil
}

// yamlNode reads one JSON value.
func yamlNode(dec *jsontext.Decoder) (*yaml.Node, error) {
	t, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	n := &yaml.Node{Kind: yaml.ScalarNode}
	var end jsontext.Kind
	switch t.Kind() {
	case '{':
		n.Kind, n.Tag, end = yaml.MappingNode, "!!map", '}'
	case '[':
		n.Kind, n.Tag, end = yaml.SequenceNode, "!!seq", ']'
	case '"':
		n.Tag, n.Value = "!!str", t.String()
		_, isText := plain(n.Value).(string)
		switch {
		case escape.Contains(n.Value):
			n.Style = yaml.DoubleQuotedStyle // the only style with escapes
		case strings.Contains(n.Value, "\n"):
			n.Style = yaml.LiteralStyle
		case !isText:
			n.Style = yaml.DoubleQuotedStyle
		}
		return n, nil
	default: // a number, boolean or null, written as in JSON
		n.Value = t.String()
		return n, nil
	}
	for dec.PeekKind() != end {
		child, err := yamlNode(dec)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, child)
	}
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	_, err = dec.ReadToken()
	return n, err
}
