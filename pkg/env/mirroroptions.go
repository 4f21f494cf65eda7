package env

import (
	"github.com/gantry-mirror/gantry/pkg/durable"
)

// IsFile reports whether what is written to path becomes a file there.
func IsFile(path string) bool {
	_, regular, err := durable.Resolve(path)
	return regular || err != nil // the error is returned when it is written
}
