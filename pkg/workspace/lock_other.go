//go:build !unix

package workspace

import (
	"errors"
	"os"
)

// errLocked says that another process has the lock.
var errLocked = errors.New("locked")

// lockFile does nothing: these systems have no lock that ends with its process
// and is within reach without cgo. The workspace is used unlocked.
func lockFile(*os.File) error { return nil }
