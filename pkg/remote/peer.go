package remote

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// A peer is a server as it is dialed: a registry, or what one redirects to.
type peer struct {
	transport *http.Transport
	sends     http.RoundTripper // transport, or Options.Transport
	certs     *clientCerts      // of the user for it
	dialed    dialed
	heard     atomic.Int64 // grows with everything that it sends

	mu    sync.Mutex
	muted time.Time // it was silent: no requests before this time
	tried time.Time // when it was first requested
}

// firstContact limits the time of all attempts to reach a server that has not responded in this run. Its name or
// port may be wrong, and nobody waits for that; a server that responded before may be restarting.
const firstContact = 9 * time.Second

// try records that a request is sent to the server.
func (p *peer) try(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tried.IsZero() {
		p.tried = now
	}
}

// firstTried returns when the server was first requested.
func (p *peer) firstTried() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tried
}

// A peerKey is how a peer is reached and trusted, and who named it: what a server named is dialed
// within limits, and shares no connections with what the user named.
type peerKey struct {
	hostKey
	by origin
}

// peer returns a server. A CDN is trusted like the registry that redirects to it: on-premises, both
// usually have certificates of the same CA.
func (c *Client) peer(name string, insecure bool, by origin) (*peer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.peerLocked(peerKey{hostKey{name, insecure}, by})
}

func (c *Client) peerLocked(key peerKey) (*peer, error) {
	if p := c.peers[key]; p != nil {
		return p, nil
	}
	if c.o.Transport != nil {
		p := &peer{transport: &http.Transport{}, sends: c.o.Transport, certs: &clientCerts{}}
		c.peers[key] = p
		return p, nil
	}
	cfg, ours, err := c.tlsConfig(key.host, key.insecure)
	if err != nil {
		return nil, err
	}
	p := &peer{certs: ours}
	p.transport = c.newTransport(key, cfg, &p.dialed)
	p.sends = p.transport
	c.peers[key] = p
	return p, nil
}

// mute has requests fail until a time, unless the server sends something before.
func (p *peer) mute(until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.muted = until
}

func (p *peer) isMuted(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return now.Before(p.muted)
}
