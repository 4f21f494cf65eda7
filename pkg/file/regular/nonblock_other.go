//go:build !unix

package regular

// nonblock is for pipes that are files, which this system does not have.
const nonblock = 0

// isUnread reports whether an error of opening a pipe means that no process reads from it.
func isUnread(error) bool { return false }
