package remote

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// copyBuffer is the size of the buffers that blobs pass through, in bytes.
const copyBuffer = 256 << 10

var buffers = sync.Pool{New: func() any { return new([copyBuffer]byte) }}

// transport returns the connections to a host, registry or CDN. A CDN is
// trusted as the registry that redirects to it: on-premises the two share their
// certificates' fate.
func (c *Client) transport(name string, insecure bool) (*http.Transport, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.transportLocked(name, insecure)
}

func (c *Client) transportLocked(name string, insecure bool) (*http.Transport, error) {
	key := place{name, insecure}
	if t := c.transports[key]; t != nil {
		return t, nil
	}
	cfg, err := c.tlsConfig(name, insecure)
	if err != nil {
		return nil, err
	}
	// HTTP/1.1, a connection for each request under way: HTTP/2 would send all of
	// them through one, whose windows (1 MiB in all for uploads to a registry in
	// Go) are too small for a link with latency, and one lost packet stops them
	// all.
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	dialer := &net.Dialer{Timeout: 20 * time.Second, KeepAlive: 15 * time.Second}
	t := &http.Transport{
		Proxy: c.o.Proxy,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, addr)
			if tcp, ok := conn.(*net.TCPConn); ok {
				return pooledConn{tcp}, err
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
		TLSHandshakeTimeout:    20 * time.Second,
		Protocols:              protocols,
		DisableCompression:     true, // blobs are to arrive as they are
		MaxIdleConnsPerHost:    c.width(name) + 8,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}
	c.transports[key] = t
	return t, nil
}

// pooledConn sends bodies through a large pooled buffer. A bare TCPConn would
// allocate a small one for each body that is not a file.
type pooledConn struct{ *net.TCPConn }

func (c pooledConn) ReadFrom(r io.Reader) (int64, error) {
	buf := buffers.Get().(*[copyBuffer]byte)
	defer buffers.Put(buf)
	return io.CopyBuffer(struct{ io.Writer }{c.TCPConn}, r, buf[:])
}

// proxyRefusal is a proxy's answer other than 200 to CONNECT.
type proxyRefusal struct {
	proxy  string
	status int
}

func (p *proxyRefusal) Error() string {
	return fmt.Sprintf("the proxy %s refuses the connection with HTTP %d %s", p.proxy, p.status, http.StatusText(p.status))
}
