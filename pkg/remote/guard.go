package remote

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
)

// An origin is who named the host of a request: the user (the zero value), or a registry, in a
// redirect, a token realm or the location of an upload. What a registry named must not lead to where
// the registry itself is not:
//
//   - Addresses of this link and of metadata services of clouds are always refused.
//   - Loopback addresses are refused unless the registry is on this machine.
//   - Private addresses are refused if the registry has a public one.
//
// The first rule is also for the addresses of files, charts, graphs and signatures that the user named: a metadata
// service responds to everyone on its machine with secrets, and configurations are written by many.
//
// The dialer checks the addresses that names resolve to. A proxy resolves names itself: only
// literal addresses are checked there.
type origin struct {
	server  bool       // a server named it
	page    bool       // the user named it, and it is no registry
	proxied bool       // a proxy connects to it
	public  bool       // the address of the server that named it is public, or unknown
	here    bool       // that server is on this machine
	addr    netip.Addr // of that server, unless it is public
}

// origin returns who named the host of u, to which r is sent.
func (h *host) origin(r *request, u *url.URL) origin {
	var own origin
	if r.page() {
		own = origin{page: true, proxied: h.proxied(u)}
	}
	if u.Host == h.addr {
		return own
	}
	o := origin{server: true, proxied: h.proxied(u)}
	addr, here := h.address(own)
	switch {
	case !addr.IsValid() || !isPrivate(addr) && !isLoopback(addr) && !isReserved(addr):
		o.public = true
	default:
		o.addr, o.here = addr, here || isLoopback(addr)
	}
	return o
}

// proxied reports whether requests to u go through a proxy.
func (h *host) proxied(u *url.URL) bool {
	proxy, err := h.c.o.Proxy(&http.Request{URL: u, Header: http.Header{}})
	return err == nil && proxy != nil
}

// address returns the address of the server that own was dialed at; an invalid one if it is unknown, as behind a proxy.
func (h *host) address(own origin) (addr netip.Addr, here bool) {
	if literal, ok := literalAddress(h.addr); ok && literal.IsValid() {
		addr = literal
	}
	p, err := h.c.peer(h.name, h.insecure, own)
	if err != nil {
		return addr, false
	}
	if dialed, here := p.dialed.get(); dialed.IsValid() {
		return dialed, here
	}
	return addr, false
}

// check returns an error if what o named must not be dialed at ip.
func (o origin) check(ip netip.Addr) error {
	ip = plainAddress(ip)
	switch {
	case !o.server && !o.page, o.addr.IsValid() && ip == o.addr:
		return nil
	case isReserved(ip):
		return &addressError{ip, "an address of this link or of a cloud's metadata service"}
	case o.server && isLoopback(ip) && !o.here:
		return &addressError{ip, "an address of this machine, and the server that refers to it is not on this machine"}
	case isPrivate(ip) && o.public:
		return &addressError{ip, "a private address, and the server that refers to it is not at one"}
	}
	return nil
}

// checkLiteral returns an error if the host of u is an address that must not be dialed. It is for
// requests through a proxy.
func (o origin) checkLiteral(u *url.URL) error {
	ip, ok := literalAddress(u.Host)
	switch {
	case !ok:
		return nil
	case !ip.IsValid():
		return fmt.Errorf("%s is not a valid name or address: %w", u.Hostname(), ErrRefused)
	}
	return o.check(ip)
}

var (
	nat64  = netip.MustParsePrefix("64:ff9b::/96")
	shared = netip.MustParsePrefix("100.64.0.0/10") // RFC 6598
	this   = netip.MustParsePrefix("0.0.0.0/8")
)
