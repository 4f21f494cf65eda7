package env

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ConfigFile returns the path of a file of the user's configuration, or "" if it does not exist:
// $XDG_CONFIG_HOME/gantry/NAME or ~/.config/gantry/NAME.
func ConfigFile(getenv func(string) string, name string) string {
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // as the XDG specification requires
		home := getenv("HOME")
		if home == "" {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	file := filepath.Join(dir, "gantry", name)
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return file
}
