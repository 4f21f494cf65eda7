package remote

import (
	"net"

	"golang.org/x/sys/unix"
)

// unsent returns how many bytes that were written to a connection its peer has not yet taken. They
// are in a buffer of the system, which can be as large as a blob.
func unsent(c *net.TCPConn) int {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	n := 0
	err = raw.Control(func(fd uintptr) {
		if q, err := unix.IoctlGetInt(int(fd), unix.SIOCOUTQ); err == nil {
			n = q
		}
	})
	if err != nil {
		return 0
	}
	return n
}
