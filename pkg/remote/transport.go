package remote

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"syscall"
	"time"
)

// copyBuffer is the size of the buffers for blobs, in bytes.
const copyBuffer = 256 << 10

var buffers = sync.Pool{New: func() any { return new([copyBuffer]byte) }}

// dialTimeout limits how long making a connection takes, with the lookup of its name, and tlsTimeout the TLS handshake.
const (
	dialTimeout = firstContact
	tlsTimeout  = 20 * time.Second
)

// A dialFunc makes a connection if check returns no error for its address.
type dialFunc func(ctx context.Context, network, addr string, check func(netip.Addr) error) (net.Conn, error)

// dial is the dialFunc of the system's resolver and network.
func dial(ctx context.Context, network, addr string, check func(netip.Addr) error) (net.Conn, error) {
	d := net.Dialer{
		Timeout: dialTimeout, KeepAlive: 15 * time.Second,
		ControlContext: func(_ context.Context, _, addr string, _ syscall.RawConn) error {
			resolved, err := netip.ParseAddrPort(addr)
			if err != nil {
				return fmt.Errorf("reading the address %s: %w", addr, err)
			}
			return check(resolved.Addr())
		},
	}
	conn, err := d.DialContext(ctx, network, addr)
	if tcp, ok := conn.(*net.TCPConn); ok {
		return pooledConn{tcp}, err
	}
	return conn, err
}

// newTransport returns the transport to a server. Where its connections lead is kept in at.
func (c *Client) newTransport(key peerKey, cfg *tls.Config, at *dialed) *http.Transport {
	// HTTP/1.1, one connection per concurrent request: HTTP/2 would send all of them through one
	// connection, whose windows (1 MiB in all for uploads to a registry in Go) are too small for a
	// link with latency, and one lost packet stops them all.
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	t := &http.Transport{
		Proxy: c.o.Proxy,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if c.o.BeforeDial != nil {
				if err := c.o.BeforeDial(addr); err != nil {
					return nil, err
				}
			}
			check := key.by.check
			if key.by.proxied {
				check = origin{}.check // this is the proxy
			}
			conn, err := c.dial(ctx, network, addr, check)
			if err == nil && hostOnly(addr) == hostOnly(dialedName(key.host)) { // it is no proxy
				at.set(addressOf(conn.RemoteAddr()), addressOf(conn.RemoteAddr()) == addressOf(conn.LocalAddr()))
			}
			return conn, err
		},
		OnProxyConnectResponse: func(_ context.Context, proxy *url.URL, _ *http.Request, resp *http.Response) error {
			if resp.StatusCode == http.StatusOK {
				return nil
			}
			return &proxyRefusal{proxy: proxy.Redacted(), status: resp.StatusCode}
		},
		TLSClientConfig:        cfg,
		TLSHandshakeTimeout:    tlsTimeout,
		Protocols:              protocols,
		DisableCompression:     true, // blobs must be received unchanged
		MaxIdleConnsPerHost:    c.maxStreams(key.host) + 8,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}
	if key.by.server && !key.by.proxied {
		t.Proxy = nil // its address was found not to need one; the dialer has to see it
	}
	return t
}

// addressOf returns the IP address of one end of a connection; an invalid one if there is none.
func addressOf(a net.Addr) netip.Addr {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	ip, _ := netip.AddrFromSlice(tcp.IP)
	return plainAddress(ip)
}

// A pooledConn sends bodies through a large pooled buffer. A plain TCPConn would allocate a small
// one for each body that is not a file.
type pooledConn struct{ *net.TCPConn }

func (c pooledConn) ReadFrom(r io.Reader) (int64, error) {
	buf := buffers.Get().(*[copyBuffer]byte)
	defer buffers.Put(buf)
	return io.CopyBuffer(struct{ io.Writer }{c.TCPConn}, r, buf[:])
}

// A proxyRefusal is a response of a proxy to CONNECT other than 200.
type proxyRefusal struct {
	proxy  string
	status int
}

func (p *proxyRefusal) Error() string {
	return fmt.Sprintf("the proxy %s refused the connection with HTTP %d %s", p.proxy, p.status, http.StatusText(p.status))
}

// dialedName returns the host that a host of references is dialed as.
func dialedName(name string) string {
	if name == "docker.io" {
		return "registry-1.docker.io"
	}
	return name
}

// maxStreams returns the limit of concurrent requests to a host.
func (c *Client) maxStreams(name string) int {
	own := c.o.Limits.For(name).Streams
	if own > 0 && c.o.Streams > 0 {
		return min(own, c.o.Streams)
	}
	return cmp.Or(own, c.o.Streams, MaxStreams)
}
