package plan

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A plan may come from a stranger's disk, so the memory that reading it takes must not exceed a
// small multiple of a plan that Gantry writes.
const (
	// The least bytes that an object and a field have on average. `{},` has three and would take
	// thirty times as much memory.
	minObject, minField = 32, 8
	// freeObjects and freeFields are accepted in any plan.
	freeObjects, freeFields = 64 << 10, 256 << 10
	// maxValue is the maximum size of a single text, and of the selection of a catalog, in bytes.
	maxValue = 4 << 20
)

// limits are maximum sizes in bytes.
type limits struct {
	plan  int64
	entry int64 // of a list
	value int64 // a single text, or the selection of a catalog
}

// defaultLimits are those of Read. 50,000 images need 70 MB, and a catalog with all bundles of the
// largest public one 10 MB.
func defaultLimits() limits { return limits{plan: 256 << 20, entry: 64 << 20, value: maxValue} }

// A limitedReader reads the text of a plan and refuses what would take too much memory. A decoder
// keeps in memory what it has read of a value until the value ends, so a value that is too long is
// noticed when the decoder asks for more of it.
type limitedReader struct {
	limits
	r       io.Reader
	decoder *jsontext.Decoder // that reads from it
	read    int64             // in bytes
	begun   int64             // where the current entry begins
	objects int64
	fields  int64
	err     error // why the plan was refused
}

// newLimitedReader returns a reader and the decoder that reads from it.
func newLimitedReader(r io.Reader, atMost limits) *limitedReader {
	l := &limitedReader{limits: atMost, r: r}
	l.decoder = jsontext.NewDecoder(l)
	return l
}

// begin marks the beginning of an entry.
func (l *limitedReader) begin() { l.begun = l.decoder.InputOffset() }

func (l *limitedReader) Read(p []byte) (int, error) {
	switch {
	case l.err != nil:
	case l.read > l.plan:
		l.err = fmt.Errorf("it is larger than %d MiB", l.plan>>20)
	case l.read-l.decoder.InputOffset() > l.value:
		l.err = fmt.Errorf("it has a value of more than %d MiB at offset %d", l.value>>20, l.decoder.InputOffset())
	case l.read-l.begun > l.entry:
		l.err = fmt.Errorf("it has an entry of more than %d MiB at offset %d", l.entry>>20, l.begun)
	case l.objects > freeObjects+l.read/minObject:
		l.err = fmt.Errorf("it has %d objects in %d bytes and is not a plan", l.objects, l.read)
	case l.fields > freeFields+l.read/minField:
		l.err = fmt.Errorf("it has %d fields in %d bytes and is not a plan", l.fields, l.read)
	}
	if l.err != nil {
		return 0, l.err
	}
	n, err := l.r.Read(p)
	l.read += int64(n)
	l.objects += int64(bytes.Count(p[:n], []byte("{")))
	l.fields += int64(bytes.Count(p[:n], []byte(",")))
	return n, err
}

// maxError is the maximum length of the error for a text in bytes. Errors of package json repeat the
// names of fields.
const maxError = 1000

// A briefError is an error whose text is cut off.
type briefError struct{ err error }

func (e *briefError) Error() string { return strings.ToValidUTF8(e.err.Error()[:maxError], "") + "..." }
func (e *briefError) Unwrap() error { return e.err }

// brief returns an error whose text has a limited length.
func brief(err error) error {
	if len(err.Error()) <= maxError {
		return err
	}
	return &briefError{err}
}
