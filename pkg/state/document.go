package state

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	refs "github.com/gantry-mirror/gantry/pkg/reference"
)

// A header has the first fields of every document that travels between sites.
type header struct {
	Kind    string
	Version int
	Name    string // of the image set
}

// check compares the header with the expected kind and version.
func (h header) check(kind string, version int) error {
	switch {
	case h.Kind != kind:
		return fmt.Errorf("kind %.40q is not %s", h.Kind, kind)
	case h.Version != version:
		return fmt.Errorf("version %d: this program knows version %d", h.Version, version)
	case !refs.IsSetName(h.Name):
		return fmt.Errorf("name %.60q", h.Name)
	}
	return nil
}

// readDocument reads a file with one JSON value and at most limit bytes. Unknown fields, duplicate
// fields and anything after the value are errors. It decodes while it reads, so that the text is
// never in memory as a whole. If the value can be checked, it is.
func readDocument(in io.Reader, limit int64, into any) error {
	limited := &io.LimitedReader{R: &countingReader{in: in}, N: limit + 1}
	dec := jsontext.NewDecoder(limited)
	err := json.UnmarshalDecode(dec, into, json.RejectUnknownMembers(true))
	switch {
	case limited.N <= 0:
		return fmt.Errorf("it has more than %d bytes", limit)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it is truncated")
	case err != nil:
		return err
	}
	switch _, err := dec.ReadToken(); {
	case limited.N <= 0:
		return fmt.Errorf("it has more than %d bytes", limit)
	case !errors.Is(err, io.EOF):
		return errors.New("more text follows the value")
	}
	if document, ok := into.(interface{ check() error }); ok {
		return document.check()
	}
	return nil
}

// A countingReader returns an error if the text has more objects or fields than a document of its
// size can have: `{},` has three bytes and would take twenty times as much memory.
type countingReader struct {
	in                      io.Reader
	length, objects, fields int
}

// minObject and minField are the least average bytes of an object and of a field; alwaysAllowed is
// how many of them any text may have.
const minObject, minField, alwaysAllowed = 24, 4, 1024

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.length += n
	c.objects += bytes.Count(p[:n], []byte("{"))
	c.fields += bytes.Count(p[:n], []byte(","))
	if c.objects > alwaysAllowed+c.length/minObject || c.fields > alwaysAllowed+c.length/minField {
		return 0, fmt.Errorf("it has %d objects and %d fields in %d bytes, too many for such a document", c.objects, c.fields, c.length)
	}
	return n, err
}
