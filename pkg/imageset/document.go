package imageset

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document returns the root of the one document in text that holds anything.
// nil means that there is none; then a problem says why.
func (r *reader) document(text []byte) *yaml.Node {
	var root *yaml.Node
	lines := &lineReader{rest: text}
	decoder := yaml.NewDecoder(lines)
	for {
		var doc yaml.Node
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			r.syntax(text, lines.lines, err)
			return nil
		}
		switch n := doc.Content[0]; {
		case isNull(n):
		case root == nil:
			root = n
		default:
			r.faultAt(r.position(n), "", "a second document begins here",
				fmt.Sprintf("keep one %s to a file and give each run the file it needs", Kind))
			return root
		}
	}
	if root == nil {
		r.faultAt(Position{File: r.file, Line: 1, Column: 1}, "", "the file is empty", howToBegin())
	}
	return root
}

func howToBegin() string {
	return fmt.Sprintf("begin it with `apiVersion: %s` and `kind: %s`", APIVersion, Kind)
}

// foreign reports whether the document is something else than an
// ImageSetConfiguration, whose fields would all be unknown. It says so once.
func foreign(r *reader, root *yaml.Node) bool {
	if root.Kind != yaml.MappingNode {
		r.faultAt(r.position(root), "", "found "+describe(root)+", wanted a mapping", howToBegin())
		return true
	}
	found := map[string]string{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if value.Kind == yaml.ScalarNode && (key.Value == "kind" || key.Value == "apiVersion") && found[key.Value] == "" {
			found[key.Value] = value.Value
			r.at[key.Value] = r.position(key)
		}
	}
	kind, version := found["kind"], found["apiVersion"]
	switch {
	case kind == "DeleteImageSetConfiguration":
		r.fault("kind", "this is a DeleteImageSetConfiguration: it says what to delete from a mirror, not what to mirror",
			fmt.Sprintf("give a file of kind %s", Kind))
	case kind != "" && kind != Kind && !strings.EqualFold(kind, Kind):
		r.fault("kind", fmt.Sprintf("%s is not a kind that is mirrored from", quote(kind)),
			fmt.Sprintf("give a file of kind %s", Kind))
	case kind == "" && version != "" && !strings.HasPrefix(version, apiGroup):
		r.fault("apiVersion", fmt.Sprintf("%s is not the version of an %s", quote(version), Kind),
			fmt.Sprintf("write %q", APIVersion))
	default:
		return false
	}
	return true
}
