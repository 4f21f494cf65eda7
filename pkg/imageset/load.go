package imageset

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"go.yaml.in/yaml/v3"
)

// maxSize is the largest configuration that is read, in bytes: room for some
// 30,000 images listed by digest.
const maxSize = 4 << 20

// Load reads the configuration file at path, which may be a pipe. What is wrong
// with its content is an *Error; any other error says why it was not read.
func Load(path string) (*Config, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the configuration: %w; check the path, which is relative to the working directory", err)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	defer func() { _ = f.Close() }() // only read from
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("reading the configuration: %s is a folder; name the file in it", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	return Parse(path, text)
}

// Parse reads a configuration from text, YAML or JSON. The file's name is what
// positions carry. What is wrong with the content is an *Error.
func Parse(file string, text []byte) (*Config, error) {
	c := &Config{}
	err := parse(file, text, func(r *reader, root *yaml.Node) {
		if !foreign(r, root) {
			configObject().read(r, root, "", &c.Pos, c)
		}
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// ParseOperator reads one entry of mirror.operators, as json.Marshal writes an
// Operator, with the checks that Parse makes within an entry. What is installed
// may be of packages that others need and that it does not name. Positions carry
// no file name. What is wrong with the text is an *Error.
func ParseOperator(text []byte) (Operator, error) {
	var o Operator
	err := parse("", text, func(r *reader, root *yaml.Node) {
		operatorObject().read(r, root, "", &o.Pos, &o)
	})
	if err != nil {
		return Operator{}, err
	}
	return o, nil
}

// parse hands the one document in text to read and returns what was found
// wrong.
func parse(file string, text []byte, read func(*reader, *yaml.Node)) error {
	if len(text) > maxSize {
		return fmt.Errorf("reading the configuration: %s is larger than %d MiB; is it an ImageSetConfiguration? if so, split it", file, maxSize>>20)
	}
	r := &reader{file: file, at: map[string]Position{}}
	if root := r.document(text); root != nil {
		read(r, root)
	}
	if len(r.problems) == 0 {
		return nil
	}
	sortProblems(r.problems)
	return &Error{Problems: r.problems}
}
