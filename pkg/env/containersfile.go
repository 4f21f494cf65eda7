package env

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// The files of containers/image below the home folder and /etc.
const (
	ContainersConfig = "containers"
	PolicyFile       = "policy.json"
	RegistriesFolder = "registries.d"
)

// ContainersFile returns a file or folder of containers/image: the user's, or else the machine's; "" if
// neither exists.
func (e *Env) ContainersFile(name string) string {
	var all []string
	if home := e.HomeDir(); home != "" {
		all = append(all, filepath.Join(home, ".config", ContainersConfig, name))
	}
	for _, path := range append(all, filepath.Join("/etc", ContainersConfig, name)) {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path // an error is returned when it is read
		}
	}
	return ""
}

// HomeDir returns the user's home folder, or "".
func (e *Env) HomeDir() string { return cmp.Or(e.Home, e.Variable("HOME")) }
