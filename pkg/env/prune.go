package env

import (
	"os"
)

// IsFolder reports whether there is a folder.
func IsFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
