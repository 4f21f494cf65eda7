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
		r.faultAt(Position{File: r.file, Line: 1, Column: 1}, "", "the file is empty", howToBegin(Kind))
	}
	return root
}

func howToBegin(kind string) string {
	return fmt.Sprintf("begin it with `apiVersion: %s` and `kind: %s`", APIVersion, kind)
}

// headerOf returns kind and apiVersion of the root of a document, and stores their places.
func headerOf(r *reader, root *yaml.Node) map[string]string {
	found := map[string]string{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if value.Kind == yaml.ScalarNode && (key.Value == "kind" || key.Value == "apiVersion") && found[key.Value] == "" {
			found[key.Value] = value.Value
			r.at[key.Value] = place{Position: r.position(key)}
		}
	}
	return found
}

// foreign reports whether the document is not of the wanted kind, so that all of its fields would be
// unknown. It reports that as a single problem.
func foreign(r *reader, root *yaml.Node, want string) bool {
	if root.Kind != yaml.MappingNode {
		found := describe(root)
		if root.Kind == yaml.ScalarNode {
			found = "a single value" // not shown: it may be a file with a password
		}
		r.faultAt(r.position(root), "", "found "+found+", expected a mapping", howToBegin(want))
		return true
	}
	found := headerOf(r, root)
	kind, version := found["kind"], found["apiVersion"]
	switch {
	case kind == DeletionKind && want == Kind:
		r.fault("kind", "this is a DeleteImageSetConfiguration, which lists what to delete from a mirror",
			fmt.Sprintf("use a file of kind %s; gantry prune -c reads this one", Kind))
	case kind == Kind && want == DeletionKind:
		r.fault("kind", "this is an ImageSetConfiguration, which lists what to mirror",
			fmt.Sprintf("use a file of kind %s, with a field delete", DeletionKind))
	case kind != "" && kind != want && !strings.EqualFold(kind, want):
		r.fault("kind", fmt.Sprintf("%s is not a supported kind", quote(kind)),
			fmt.Sprintf("use a file of kind %s", want))
	case kind == "" && version != "" && !strings.HasPrefix(version, apiGroup):
		r.fault("apiVersion", fmt.Sprintf("%s is not the version of %s", quote(version), withArticle(want)),
			fmt.Sprintf("write %q", APIVersion))
	default:
		return false
	}
	return true
}

func withArticle(kind string) string {
	if kind == Kind {
		return "an " + kind
	}
	return "a " + kind
}
