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
	text []byte // as in the file
	json []byte
	more bool // whether the file has further documents
	kind string

	root *yamlv3.Node // of the text, parsed when a position in it is needed
}

// A position is a line of a file.
type position struct {
	file string
	line int // from 1; 0 is the file as a whole
}

// parse reads a file of JSON or YAML. It returns nil for a file without a document. YAML has the
// meaning that it has in Kubernetes, which reads it with sigs.k8s.io/yaml.
func parse(file string, data []byte) (*manifest, *fault) {
	m := &manifest{file: file, line: 1}
	if first := bytes.TrimLeft(data, " \t\r\n"); len(first) > 0 && first[0] == '{' {
		end, err := m.parseJSON(data, first)
		if err == nil {
			return m.identified(), nil
		} else if path.Ext(file) == ".json" {
			line := 1 + bytes.Count(data[:min(end, len(data))], []byte("\n"))
			return nil, &fault{position{file, line}, "the JSON is broken: " + err.Error()}
		}
	}
	for data != nil {
		var document []byte
		document, data = cutDocument(data)
		raw, err := yaml.YAMLToJSON(document)
		if err != nil {
			line, message := yamlError(err)
			return nil, &fault{position{file, m.line + line}, "the YAML is broken: " + message}
		}
		if string(raw) == "null" {
			m.line += bytes.Count(document, []byte("\n"))
			continue
		}
		m.text = document
		if m.json, err = clean(raw); err != nil {
			return nil, &fault{position{file, m.line}, err.Error()}
		}
		m.more = len(bytes.TrimSpace(data)) > 0
		return m.identified(), nil
	}
	return nil, nil
}

// parseJSON reads the first JSON object; on an error, end is the offset in data where reading
// stopped, since YAML may begin like JSON. first is data without leading white space.
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

// identified sets the kind of the object, if any.
func (m *manifest) identified() *manifest {
	var id struct {
		Kind string `json:"kind"`
	}
	if json.Unmarshal(m.json, &id) == nil {
		m.kind = id.Kind
	}
	return m
}

// cutDocument splits off the first YAML document, with the line that ends it. rest is nil after the
// last one.
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

// yamlError splits an error about YAML into the line, from 0, and the message.
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

// at returns the position of the member at a path, or of the longest existing part of the path. An
// element of a list is named by its index from 0.
func (m *manifest) at(members ...string) position {
	p := position{m.file, m.line}
	if len(members) > 0 && m.root == nil {
		m.root = &yamlv3.Node{}
		// JSON is YAML, too. Text that this parser rejects has no positions.
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

// child returns the line of a member or element, and its value.
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

// decode decodes the document. The position of an error is the member with the wrong type.
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
		err = fmt.Errorf("the file exceeds the limit of %d bytes", limit)
	}
	return data, err
}
