package trust

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// The files of containers/image below the home folder and /etc.
const (
	containersConfig = "containers"
	policyFile       = "policy.json"
	registriesFolder = "registries.d"
)

// containersFile returns a file or folder of containers/image: the user's, or else the machine's; "" if
// neither exists.
func containersFile(home, name string) string {
	var all []string
	if home != "" {
		all = append(all, filepath.Join(home, ".config", containersConfig, name))
	}
	for _, path := range append(all, filepath.Join("/etc", containersConfig, name)) {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path // an error is returned when it is read
		}
	}
	return ""
}
