//go:build !unix

package sshsig

import "io/fs"

// private is left to the system: modes say nothing here.
func private(fs.FileInfo) error { return nil }
