package remote

import (
	"fmt"
	"net/url"
	"strings"
)

// resolveURL resolves a URL from a registry (a redirect, the Location of an upload, a token realm,
// the next page) relative to the request's URL. It refuses URLs that a remote registry has no
// reason to name: plain HTTP if the registry uses TLS, and credentials. See origin for addresses.
func (h *host) resolveURL(from, to string) (*url.URL, error) {
	base, err := url.Parse(from)
	if err != nil {
		return nil, fmt.Errorf("the URL of the request is malformed: %w", ErrRefused)
	}
	u, err := base.Parse(to)
	if err != nil || to == "" {
		// The cause would show the URL with its query.
		return nil, fmt.Errorf("the URL is empty or malformed: %w", ErrRefused)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.Hostname() == "":
		return nil, fmt.Errorf("the URL is not http or https: %w", ErrRefused)
	case strings.ContainsFunc(u.Host, notOfHost):
		return nil, fmt.Errorf("the URL names no host: %w", ErrRefused)
	case u.User != nil:
		return nil, fmt.Errorf("the URL on %s contains credentials: %w", u.Host, ErrRefused)
	case u.Scheme == "http" && base.Scheme == "https":
		return nil, fmt.Errorf("http://%s is plain HTTP, and the server that refers to it uses TLS: %w", u.Host, ErrRefused)
	}
	u.Fragment = ""
	return u, nil
}

// notOfHost reports whether no host has a character. Package url permits some that shells interpret, and messages have the host in
// commands to run.
func notOfHost(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-._:[]%", r)
}

// sameHost reports whether two URLs have the same origin.
func sameHost(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && a.Hostname() == b.Hostname() && port(a) == port(b)
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "http":
		return "80"
	}
	return "443"
}
