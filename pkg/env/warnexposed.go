package env

import (
	"os"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// WarnExposed warns if other users can read a file that has a secret, once for each file. A private key for signatures is
// refused then, as in ssh. Other secrets are often mounted into a container with such a mode.
func (e *Env) WarnExposed(file string, info os.FileInfo) {
	if !regular.IsExposed(info) {
		return
	}
	if _, again := e.exposed.LoadOrStore(file, true); !again {
		e.Warnf("others can read %s (mode %04o), which has a secret: run chmod 600 on it", file, info.Mode().Perm())
	}
}
