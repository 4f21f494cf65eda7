package env

import (
	"os"

	"github.com/gantry-mirror/gantry/pkg/file/durable"
)

// IsFile reports whether what is written to path becomes a file there.
func IsFile(path string) bool {
	_, regular, err := durable.Resolve(path)
	return regular || err != nil // the error is returned when it is written
}

// IsFolder reports whether there is a folder.
func IsFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
