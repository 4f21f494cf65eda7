//go:build !linux

package remote

import "net"

// unsent returns 0: only on Linux is it known how much a peer has taken.
func unsent(*net.TCPConn) int { return 0 }
