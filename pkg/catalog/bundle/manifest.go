package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
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
		end, err := m.parseJSON(data, first)
		if err == nil {
			return m.identified(), nil
		} else if path.Ext(file) == ".json" {
			line := 1 + bytes.Count(data[:min(end, len(data))], []byte("\n"))
			return nil, &fault{place{file, line}, "the JSON is broken: " + err.Error()}
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

// parseJSON reads the first JSON object; if there is none, it says where in data
// reading ended. YAML may begin like JSON, too. first is data without the blanks
// before it.
func (m *manifest) parseJSON(data, first []byte) (end int, err error) {
	before := len(data) - len(first)
	decoder := json.NewDecoder(bytes.NewReader(first))
	var raw json.RawMessage
	if err := decoder.Decode(&raw); err != nil {
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			return before + int(syntax.Offset), err
		}
		return len(data), err
	}
	text, err := clean(raw)
	if err != nil {
		return before, err
	}
	m.line += bytes.Count(data[:before], []byte("\n"))
	m.text, m.json = raw, text
	m.more = len(bytes.TrimSpace(first[decoder.InputOffset():])) > 0
	return 0, nil
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
func (m *manifest) at(members ...string) place {
	p := place{m.file, m.line}
	if len(members) > 0 && m.root == nil {
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
	for _, name := range members {
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
	at := m.at()
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		at = m.at(strings.Split(wrong.Field, ".")...)
	}
	return &fault{at, unreadable(err).Error()}
}

// read reads a file of at most limit bytes.
func read(f io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("it has more than the %d bytes that are left for it", limit)
	}
	return data, err
}
