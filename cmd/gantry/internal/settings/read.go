// Package settings reads gantry.yaml, the settings of a site: values of flags that are the same for every run there.
//
//	limit-rate: 50MiB
//	window: ["20:00-06:00"]
//	sign-key: keys/site
//
// A field is called like its flag. The file is read strictly: what is no mapping of names to values, or has a name twice,
// is an error with file and line. Which names exist is for the caller.
package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// maxFile limits the file, in bytes.
const maxFile = 1 << 20

// A Setting is a field of a file.
type Setting struct {
	Name string
	// Values has one value, or those of a list.
	Values []string
	Line   int
}

// Read reads the file at path. Its error names the file and, if possible, the line: "gantry.yaml:3: …".
func Read(path string) ([]Setting, error) {
	f, err := regular.OpenInput(path)
	if err != nil {
		return nil, fmt.Errorf("reading settings: %w", err)
	}
	defer func() { _ = f.Close() }() // only read from
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading settings: %w", err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("reading settings: %s is larger than %d MiB", path, maxFile>>20)
	}
	return Parse(path, text)
}

var syntaxLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:yaml: )?line ([0-9]+): `) })

// Parse is Read for the text of a file. A file without fields has no settings.
func Parse(file string, text []byte) ([]Setting, error) {
	var doc, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, syntaxError(file, err)
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, at(file, max(more.Line, 1), "a second document begins here: write one")
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil // only comments
	}
	if root.Kind != yaml.MappingNode {
		return nil, at(file, root.Line, "expected a mapping of names of flags to values, such as limit-rate: 50MiB")
	}
	var all []Setting
	lines := map[string]int{}
	for i := 0; i < len(root.Content); i += 2 {
		name, value := root.Content[i], root.Content[i+1]
		if name.Kind != yaml.ScalarNode || name.Value == "" {
			return nil, at(file, name.Line, "expected the name of a flag before the colon")
		}
		if line, twice := lines[name.Value]; twice {
			return nil, at(file, name.Line, "%s is set in line %d, too", name.Value, line)
		}
		lines[name.Value] = name.Line
		values, ok := texts(value)
		if !ok {
			return nil, at(file, value.Line, "%s: expected a value or a list of values", name.Value)
		}
		all = append(all, Setting{Name: name.Value, Values: values, Line: name.Line})
	}
	return all, nil
}

// texts returns a value or those of a list, as they are written.
func texts(n *yaml.Node) ([]string, bool) {
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag != "!!null":
		return []string{n.Value}, true
	case n.Kind != yaml.SequenceNode || len(n.Content) == 0:
		return nil, false
	}
	var all []string
	for _, item := range n.Content {
		if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
			return nil, false
		}
		all = append(all, item.Value)
	}
	return all, true
}

func at(file string, line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: "+format, append([]any{file, line}, args...)...)
}

func syntaxError(file string, err error) error {
	line, message := 1, err.Error()
	if m := syntaxLine().FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1]) // digits, by the expression
		message = message[len(m[0]):]
	}
	return at(file, line, "invalid YAML: %s", strings.TrimPrefix(message, "yaml: "))
}
