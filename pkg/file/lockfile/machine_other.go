//go:build !linux

package lockfile

// Machine returns "": on this operating system, nothing identifies a machine until it starts again.
func Machine() string { return "" }
