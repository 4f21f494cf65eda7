package catalogserver

import (
	"io"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// NewLineReader is the reader behind the HTTP API's answers.
func NewLineReader(c *catalog.Catalog) (io.ReadSeeker, error) {
	l, err := newLines(objects(c))
	if err != nil {
		return nil, err
	}
	return l.reader(), nil
}
