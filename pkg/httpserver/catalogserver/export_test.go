package catalogserver

import (
	"io"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// NewLineReader returns the reader that serves responses of the HTTP API.
func NewLineReader(c *catalog.Catalog) (io.ReadSeeker, error) {
	l, err := newLines(objects(c))
	if err != nil {
		return nil, err
	}
	return l.reader(), nil
}

// Reflect answers a request of the reflection service.
func Reflect(request []byte) ([]byte, error) {
	return reflection{registryService}.answer(request, map[string]bool{})
}

// HealthSymbols are the names in the description of the health service.
func HealthSymbols() []string { return healthSymbols() }

// DescribeHealth returns that description.
func DescribeHealth() []byte { return describeHealth() }
