package env

import (
	"os"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

func (e *Env) warnExposed(file string, info os.FileInfo) { WarnExposed(e, file, info) }

// WarnExposed warns if other users can read a file that has a secret, once for each file. A private key for signatures is
// refused then, as in ssh. Other secrets are often mounted into a container with such a mode.
func WarnExposed(e *Env, file string, info os.FileInfo) {
	if regular.IsExposed(info) && e.Once("others can read "+file) {
		e.Warnf("others can read %s (mode %04o), which has a secret: run chmod 600 on it", file, info.Mode().Perm())
	}
}
