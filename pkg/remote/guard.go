package remote

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
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

// An addressError is why an address is not dialed.
type addressError struct {
	addr netip.Addr
	why  string
}

func (e *addressError) Error() string { return fmt.Sprintf("%s is %s", e.addr, e.why) }
func (e *addressError) Unwrap() error { return ErrRefused }

// literalAddress returns the address that host[:port] is written as, and whether it is one. It is
// invalid if it is written in a way that some resolvers read as an address, such as 127.1 or
// 0x7f000001.
func literalAddress(hostport string) (ip netip.Addr, ok bool) {
	if loopbackName(hostport) {
		if ip, err := netip.ParseAddr(hostOnly(hostport)); err == nil {
			return plainAddress(ip), true
		}
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}), true
	}
	name := hostOnly(hostport)
	if ip, err := netip.ParseAddr(name); err == nil {
		return plainAddress(ip), true
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	digits := strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x")
	return netip.Addr{}, digits && last != ""
}

// plainAddress returns the IPv4 address within an IPv6 one (mapped, or by NAT64 or 6to4), and
// anything else as it is.
func plainAddress(ip netip.Addr) netip.Addr {
	ip = ip.Unmap().WithZone("")
	if !ip.Is6() {
		return ip
	}
	raw := ip.As16()
	switch {
	case nat64.Contains(ip):
		return netip.AddrFrom4([4]byte(raw[12:]))
	case binary.BigEndian.Uint16(raw[:]) == 0x2002:
		return netip.AddrFrom4([4]byte(raw[2:6]))
	}
	return ip
}

var (
	nat64  = netip.MustParsePrefix("64:ff9b::/96")
	shared = netip.MustParsePrefix("100.64.0.0/10") // RFC 6598
	this   = netip.MustParsePrefix("0.0.0.0/8")
)

// isLoopback reports whether ip is this machine, however it is written.
func isLoopback(ip netip.Addr) bool {
	return ip.IsLoopback() || ip.IsUnspecified() || this.Contains(ip)
}

// isPrivate reports whether ip is an address that only a site knows.
func isPrivate(ip netip.Addr) bool { return ip.IsPrivate() || shared.Contains(ip) }

// isReserved reports whether ip is on this link, no address of one machine, or the metadata service
// of a cloud that is not on the link: of AWS (IPv6), Google (IPv6), Alibaba, Azure and Oracle.
func isReserved(ip netip.Addr) bool {
	return ip.IsLinkLocalUnicast() || ip.IsMulticast() || slices.Contains([]string{
		"fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "100.100.100.200", "168.63.129.16", "192.0.0.192", "255.255.255.255",
	}, ip.String())
}
