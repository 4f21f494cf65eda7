//go:build unix

package gate

import (
	"os/exec"
	"syscall"
)

// ownGroup starts a program in a process group of its own, so that what it started ends with it. When the context
// ends, the group gets TERM. end kills what is left of it.
func ownGroup(cmd *exec.Cmd) (end func()) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	return func() {
		if cmd.Process != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // there may be nothing left
		}
	}
}
