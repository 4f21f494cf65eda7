//go:build !linux

package registrytest

import "os/exec"

func bindToParent(*exec.Cmd) {}

// memoryFolder is a folder of files in memory, or "".
func memoryFolder() string { return "" }

func endGroup(cmd *exec.Cmd, _ bool) { _ = cmd.Process.Kill() }
