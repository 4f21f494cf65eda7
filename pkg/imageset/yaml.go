package imageset

import (
	"bytes"
	"errors"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// YAML returns the configuration as a file for people: v2alpha1, with the fields in the order of the
// format, and the comments above the fields or entries at their paths ("mirror.operators[0]"). Parse
// reads it back. A comment has one or more lines, without the leading "#". A path that the
// configuration does not have is an error, so that no comment is lost.
func (c *Config) YAML(comments map[string]string) ([]byte, error) {
	// JSON is YAML, and unlike a map it keeps the order of the fields.
	var doc yaml.Node
	if err := yaml.Unmarshal(configObject().encode(c), &doc); err != nil {
		return nil, err
	}
	a := annotator{comments: comments}
	a.node(doc.Content[0], "")
	if a.placed != len(comments) {
		return nil, errors.New("a comment is for a field that the configuration does not have")
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	enc.CompactSeqIndent()
	if err := enc.Encode(&doc); err != nil {
		return nil, err
	}
	return b.Bytes(), enc.Close()
}

// An annotator makes the nodes of JSON look like YAML that a person wrote, and adds comments.
type annotator struct {
	comments map[string]string
	placed   int
}

func (a *annotator) node(n *yaml.Node, path string) {
	n.Style = 0 // neither braces nor quotes, unless the encoder needs them
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			at := join(path, key.Value)
			key.Style = 0
			a.comment(key, at)
			if key.Value == "values" {
				continue // a text such as "yes" is only a text in quotes
			}
			a.node(n.Content[i+1], at)
		}
	case yaml.SequenceNode:
		for i, entry := range n.Content {
			at := path + "[" + strconv.Itoa(i) + "]"
			a.comment(entry, at)
			a.node(entry, at)
		}
	}
}

func (a *annotator) comment(n *yaml.Node, path string) {
	if text := a.comments[path]; text != "" {
		n.HeadComment = text
		a.placed++
	}
}
