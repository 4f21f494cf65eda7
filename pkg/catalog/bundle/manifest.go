package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// A manifest is the first document of a file, as JSON.
type manifest struct {
	file string
	line int    // where the document begins, from 1
	text []byte // as it stands in the file
	json []byte
	more bool // whether the file has further documents
	kind string

	root *yamlv3.Node // of the text, once a place in it was asked for
}

// A place is where something stands.
type place struct {
	file string
	line int // from 1; 0 is the file as a whole
}

// parse reads a file of JSON or YAML. A file without a document gives nil. The
// meaning of YAML is that of Kubernetes, which reads it with sigs.k8s.io/yaml.
func parse(file string, data []byte) (*manifest, *fault) {
	m := &manifest{file: file, line: 1}
	if first := bytes.TrimLeft(data, " \t\r\n"); len(first) > 0 && first[0] == '{' {
		if m.parseJSON(data, first) {
			return m.identified(), nil
		}
	}
	for data != nil {
		var document []byte
		document, data = cutDocument(data)
		raw, err := yaml.YAMLToJSON(document)
		if err != nil {
			line, message := yamlError(err)
			return nil, &fault{place{file, m.line + line}, "the YAML is broken: " + message}
		}
		if string(raw) == "null" {
			m.line += bytes.Count(document, []byte("\n"))
			continue
		}
		m.text = document
		if m.json, err = clean(raw); err != nil {
			return nil, &fault{place{file, m.line}, err.Error()}
		}
		m.more = len(bytes.TrimSpace(data)) > 0
		return m.identified(), nil
	}
	return nil, nil
}

// parseJSON reads the first JSON object, and reports whether there is one. first
// is data without the blanks before it.
func (m *manifest) parseJSON(data, first []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(first))
	var raw json.RawMessage
	if err := decoder.Decode(&raw); err != nil {
		return false // YAML may begin like this, too
	}
	text, err := clean(raw)
	if err != nil {
		return false
	}
	m.line += bytes.Count(data[:len(data)-len(first)], []byte("\n"))
	m.text, m.json = raw, text
	rest := bytes.TrimSpace(first[decoder.InputOffset():])
	m.more = len(rest) > 0
	return true
}

// identified fills in the kind of object, where the document says it.
func (m *manifest) identified() *manifest {
	var id struct {
		Kind string `json:"kind"`
	}
	if json.Unmarshal(m.json, &id) == nil {
		m.kind = id.Kind
	}
	return m
}

// cutDocument cuts the first YAML document off, with the line that ends it. rest
// is nil behind the last one.
func cutDocument(data []byte) (document, rest []byte) {
	for at := 0; ; {
		end := bytes.IndexByte(data[at:], '\n')
		line := data[at:]
		if end >= 0 {
			line = line[:end]
		}
		if after, ok := bytes.CutPrefix(line, []byte("---")); ok && at > 0 {
			if after = bytes.TrimSpace(after); len(after) == 0 || after[0] == '#' {
				if end < 0 {
					return data[:at], nil
				}
				return data[:at+end+1], data[at+end+1:]
			}
		}
		if end < 0 {
			return data, nil
		}
		at += end + 1
	}
}

// yamlError takes a line, from 0, and the words of an error about YAML apart.
func yamlError(err error) (line int, message string) {
	message = err.Error()
	for _, prefix := range []string{"error converting YAML to JSON: ", "yaml: "} {
		message = strings.TrimPrefix(message, prefix)
	}
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		if number, words, ok := strings.Cut(rest, ": "); ok {
			if n, err := strconv.Atoi(number); err == nil {
				return max(n-1, 0), words
			}
		}
	}
	return 0, message
}

// at is where the member at a path stands, or as much of the path as there is.
// An element of a list is named by its index from 0.
func (m *manifest) at(path ...string) place {
	p := place{m.file, m.line}
	if len(path) > 0 && m.root == nil {
		m.root = &yamlv3.Node{}
		// JSON is YAML, too. Text that this reader does not take has no places.
		if err := yamlv3.NewDecoder(bytes.NewReader(m.text)).Decode(m.root); err != nil {
			m.root = &yamlv3.Node{}
		}
	}
	if m.root == nil || len(m.root.Content) == 0 {
		return p
	}
	node := m.root.Content[0]
	for _, name := range path {
		var line int
		if line, node = child(node, name); node == nil {
			break
		}
		p.line = m.line + line - 1
	}
	return p
}

// child is the line of a member or element, and its value.
func child(node *yamlv3.Node, name string) (line int, value *yamlv3.Node) {
	switch node.Kind {
	case yamlv3.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == name {
				return node.Content[i].Line, node.Content[i+1]
			}
		}
	case yamlv3.SequenceNode:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i].Line, node.Content[i]
		}
	default:
	}
	return 0, nil
}

// decode reads the document into a value. What is wrong has the place of the
// member that is not of its type.
func (m *manifest) decode(into any) *fault {
	err := json.Unmarshal(m.json, into)
	if err == nil {
		return nil
	}
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		what := "the document"
		if wrong.Field != "" {
			what = wrong.Field
		}
		return &fault{
			m.at(strings.Split(wrong.Field, ".")...),
			fmt.Sprintf("%s is a %s, which cannot be read as %s", what, wrong.Value, typeName(wrong.Type.String())),
		}
	}
	return &fault{m.at(), err.Error()}
}

// typeName is the type of a field in words.
func typeName(goType string) string {
	switch {
	case goType == "string", goType == "bool":
		return "a " + strings.Replace(goType, "bool", "boolean", 1)
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	case strings.HasPrefix(goType, "int"):
		return "a number"
	}
	return "an object"
}

// read reads a file of at most limit bytes.
func read(f io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("it has more than the %d bytes that are left for it", limit)
	}
	return data, err
}
