//go:build !linux

package registrytest

import "os/exec"

func bindToParent(*exec.Cmd) {}

// memoryFolder returns a folder in memory, or "".
func memoryFolder() string { return "" }

func endGroup(cmd *exec.Cmd, _ bool) { _ = cmd.Process.Kill() }
