package remote

import (
	"net/netip"
	"sync"
)

// A dialed is the address of the last connection to a server.
type dialed struct {
	mu   sync.Mutex
	addr netip.Addr // invalid if there was none, or a proxy made it
	here bool       // on this machine
}

func (d *dialed) set(addr netip.Addr, here bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.addr, d.here = addr, here
}

func (d *dialed) get() (addr netip.Addr, here bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.addr, d.here
}
