package remote

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

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
