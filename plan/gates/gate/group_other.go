//go:build !unix

package gate

import "os/exec"

// ownGroup does nothing where there are no process groups: the program alone is killed when the context ends.
func ownGroup(*exec.Cmd) (end func()) { return func() {} }
