package registrytest

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// memoryFolder returns a folder in memory with room for 2 GiB, or "".
func memoryFolder() string {
	const dir = "/dev/shm"
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil || st.Type != unix.TMPFS_MAGIC || st.Bavail*uint64(st.Bsize) < 2<<30 || unix.Access(dir, unix.W_OK) != nil {
		return ""
	}
	return dir
}

// bindToParent puts the process into its own process group and lets the kernel end it if the test
// is killed before it can clean up.
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
