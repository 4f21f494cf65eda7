package imageset

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document returns the root of the only document in text that is not empty. It returns nil and
// reports a problem if there is none.
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
			root, r.doc = n, &doc
		default:
			r.faultAt(r.position(n), "", "a second document begins here",
				fmt.Sprintf("write one %s per file", Kind))
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

// foreign reports whether the document is not an ImageSetConfiguration, so that all of its fields
// would be unknown. It reports that as a single problem.
func foreign(r *reader, root *yaml.Node) bool {
	if root.Kind != yaml.MappingNode {
		found := describe(root)
		if root.Kind == yaml.ScalarNode {
			found = "a single value" // not shown: it may be a file with a password
		}
		r.faultAt(r.position(root), "", "found "+found+", expected a mapping", howToBegin())
		return true
	}
	found := map[string]string{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if value.Kind == yaml.ScalarNode && (key.Value == "kind" || key.Value == "apiVersion") && found[key.Value] == "" {
			found[key.Value] = value.Value
			r.at[key.Value] = place{Position: r.position(key)}
		}
	}
	kind, version := found["kind"], found["apiVersion"]
	switch {
	case kind == "DeleteImageSetConfiguration":
		r.fault("kind", "this is a DeleteImageSetConfiguration, which lists what to delete from a mirror",
			fmt.Sprintf("use a file of kind %s; gantry delete, which will read this one, is not in this version yet", Kind))
	case kind != "" && kind != Kind && !strings.EqualFold(kind, Kind):
		r.fault("kind", fmt.Sprintf("%s is not a supported kind", quote(kind)),
			fmt.Sprintf("use a file of kind %s", Kind))
	case kind == "" && version != "" && !strings.HasPrefix(version, apiGroup):
		r.fault("apiVersion", fmt.Sprintf("%s is not the version of an %s", quote(version), Kind),
			fmt.Sprintf("write %q", APIVersion))
	default:
		return false
	}
	return true
}
