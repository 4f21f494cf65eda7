package registrytest

import (
	"os/exec"
	"syscall"
)

// bindToParent puts the process into a group of its own and lets the kernel end
// it when the test is killed before it can clean up.
func bindToParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func endGroup(cmd *exec.Cmd, now bool) {
	signal := syscall.SIGTERM
	if now {
		signal = syscall.SIGKILL
	}
	_ = syscall.Kill(-cmd.Process.Pid, signal)
}
