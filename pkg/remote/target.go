package remote

import (
	"fmt"
	"net/netip"
	"net/url"
)

// target resolves where a registry sends us (a redirect, an upload's Location,
// a token realm, the next page) against the address it was asked at. It refuses
// addresses that a registry elsewhere has no business to name: plain http where
// the registry speaks TLS, and this machine or its link.
func (h *host) target(from, to string) (*url.URL, error) {
	base, err := url.Parse(from)
	if err != nil {
		return nil, fmt.Errorf("its own address is malformed: %w", ErrRefused)
	}
	u, err := base.Parse(to)
	if err != nil || to == "" {
		// The cause would show the address with its query.
		return nil, fmt.Errorf("the address is empty or malformed: %w", ErrRefused)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.Hostname() == "":
		return nil, fmt.Errorf("the address is not one of http or https: %w", ErrRefused)
	case u.User != nil:
		return nil, fmt.Errorf("the address on %s holds credentials: %w", u.Host, ErrRefused)
	case u.Scheme == "http" && base.Scheme == "https":
		return nil, fmt.Errorf("http://%s is plain http, and the server that names it speaks TLS: %w", u.Host, ErrRefused)
	case local(u.Host) && !local(h.addr):
		return nil, fmt.Errorf("%s is an address of this machine, and the server that names it is elsewhere: %w", u.Host, ErrRefused)
	}
	u.Fragment = ""
	return u, nil
}

// local reports whether host[:port] is this machine or its link, where clouds
// keep their metadata services.
func local(hostport string) bool {
	if loopbackName(hostport) {
		return true
	}
	ip, err := netip.ParseAddr(hostOnly(hostport))
	return err == nil && ip.Unmap().IsLinkLocalUnicast()
}
