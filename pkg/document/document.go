// Package document reads the small JSON files that sites send each other beside
// archives: receipts and repair requests.
//
// Such a file is one JSON object with kind, version and the name of a series of
// archives. It comes from anybody, so that it is limited in size, and what a reader
// does not know is an error and is not passed over.
package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxSequence is the highest number of an archive.
const MaxSequence = 999_999

// series is what series of archives are called; a plan may have no name.
var series = regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9._-]{0,254})?$`)

// Head is what every document begins with.
type Head struct {
	Kind    string
	Version int
	Name    string // of the plan: the series of archives
}

// Check compares the head with the kind and version that are wanted.
func (h Head) Check(kind string, version int) error {
	switch {
	case h.Kind != kind:
		return fmt.Errorf("kind %.40q is not %s", h.Kind, kind)
	case h.Version != version:
		return fmt.Errorf("version %d: this program knows version %d", h.Version, version)
	case !series.MatchString(h.Name):
		return fmt.Errorf("name %.60q", h.Name)
	}
	return nil
}

// Read reads the one JSON value that is in a file of at most so many bytes. Unknown
// and doubled fields, and anything that follows the value, are errors. The text is
// not held: what is read goes into the value at once.
func Read(in io.Reader, most int64, into any) error {
	limited := &io.LimitedReader{R: &counted{in: in}, N: most + 1}
	dec := jsontext.NewDecoder(limited)
	err := json.UnmarshalDecode(dec, into, json.RejectUnknownMembers(true))
	switch {
	case limited.N <= 0:
		return fmt.Errorf("it has more than %d bytes", most)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it is cut off")
	case err != nil:
		return err
	}
	switch _, err := dec.ReadToken(); {
	case limited.N <= 0:
		return fmt.Errorf("it has more than %d bytes", most)
	case !errors.Is(err, io.EOF):
		return errors.New("something follows it")
	}
	return nil
}

// A counted reader ends with an error where there are more objects or fields in what it
// read than documents have: `{},` has three bytes and would take twenty times as much
// memory.
type counted struct {
	in                      io.Reader
	length, objects, fields int
}

// Bytes that an object and a field have at least, on the average, and how many of them
// are let pass in any text.
const minObject, minField, few = 24, 4, 1024

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.length += n
	c.objects += bytes.Count(p[:n], []byte("{"))
	c.fields += bytes.Count(p[:n], []byte(","))
	if c.objects > few+c.length/minObject || c.fields > few+c.length/minField {
		return 0, fmt.Errorf("it has %d objects and %d fields in %d bytes and is no such document", c.objects, c.fields, c.length)
	}
	return n, err
}
