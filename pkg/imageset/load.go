package imageset

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// maxSize is the maximum size of a configuration in bytes: enough for about 30,000 images listed by
// digest.
const maxSize = 4 << 20

// Load reads the configuration file at path, which may be a pipe. Invalid content is an *Error; any
// other error means that the file could not be read.
func Load(path string) (*Config, error) {
	text, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// ReadFile reads the text of a configuration, for Parse.
func ReadFile(path string) ([]byte, error) {
	f, err := regular.OpenInput(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, advice.New(advice.Failure, "check the path, which is relative to the working directory", "reading the configuration: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, advice.New(advice.Failure, "name the file in it", "reading the configuration: %s is a folder", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	return text, nil
}

// Parse reads a configuration from text, YAML or JSON. file is the file name in positions. Invalid
// content is an *Error. The configuration has Warnings about text that was read and should be
// corrected.
func Parse(file string, text []byte) (*Config, error) {
	r := newReader(file)
	root, err := r.parse(text)
	if err != nil {
		return nil, err
	}
	return r.config(root)
}

// newReader returns the reader of a file of the format.
func newReader(file string) *reader {
	return &reader{file: file, at: map[string]place{}, format: func() shape { return configObject().shape() }}
}

// config reads a configuration from the root of a document; root is nil if there is none.
func (r *reader) config(root *yaml.Node) (*Config, error) {
	c := &Config{}
	if root != nil && !foreign(r, root, Kind) {
		configObject().read(r, root, "", &c.Pos, c)
	}
	if err := r.error(); err != nil {
		return nil, err
	}
	c.Warnings, c.Unusable = problemsOf(r.warnings), unusableOf(r.warnings)
	return c, nil
}

// Usable returns an *Error if the configuration has text that cannot be used, such as an image
// reference that is not valid. Only a usable configuration can be planned.
func (c *Config) Usable() error {
	if len(c.Unusable) == 0 {
		return nil
	}
	return &Error{Problems: c.Unusable}
}

// ParseOperator reads one entry of mirror.operators, as json.Marshal writes an Operator, with the
// checks of Parse within an entry. Installed operators may belong to packages that the entry does
// not name and that others need. Positions have no file name. Invalid or unusable text is an *Error.
func ParseOperator(text []byte) (Operator, error) {
	return parseEntry(text, operatorObject(), func(o *Operator) *Position { return &o.Pos })
}

// parseEntry reads one object of the format. pos returns its position field.
func parseEntry[T any](text []byte, of object[T], pos func(*T) *Position) (T, error) {
	var v, none T
	r := newReader("")
	root, err := r.parse(text)
	if err != nil {
		return none, err
	}
	if root != nil {
		of.read(r, root, "", pos(&v), &v)
	}
	err = r.error()
	if unusable := unusableOf(r.warnings); err == nil && len(unusable) > 0 {
		err = &Error{Problems: unusable}
	}
	if err != nil {
		return none, err
	}
	return v, nil
}

// parse returns the root of the one document in text. The root is nil if r has the problem.
func (r *reader) parse(text []byte) (*yaml.Node, error) {
	if len(text) > maxSize {
		return nil, advice.New(advice.Failure, "check that it is an ImageSetConfiguration, or split it", "reading the configuration: %s is larger than %d MiB", r.file, maxSize>>20)
	}
	return r.document(text), nil
}

// error returns the problems as an *Error, or nil if there are none.
func (r *reader) error() error {
	elements.Sort(r.warnings, func(a, b warning) int { return a.Pos.compare(b.Pos) })
	if len(r.problems) == 0 {
		return nil
	}
	elements.Sort(r.problems, func(a, b Problem) int { return a.Pos.compare(b.Pos) })
	return &Error{Problems: r.problems, Warnings: problemsOf(r.warnings)}
}

// ParseImage reads one entry of mirror.additionalImages, as json.Marshal writes an Image, with the checks of Parse
// within an entry. Positions have no file name. Invalid or unusable text is an *Error.
func ParseImage(text []byte) (Image, error) {
	return parseEntry(text, imageObject(), func(i *Image) *Position { return &i.Pos })
}
