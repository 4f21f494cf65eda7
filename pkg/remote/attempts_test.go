package remote

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// OnRetry is called before each wait.
func TestOnRetry(t *testing.T) {
	type told struct {
		Host, Op string
		Attempt  int
		Wait     time.Duration
		Status   int
		At       time.Duration
	}
	var got []told
	var start time.Time
	n := 0
	inBubble(t, Options{Retry: Retry{Delay: time.Second}, OnRetry: func(a RetryEvent) {
		got = append(got, told{a.Host, a.Err.Op, a.Attempt, a.Wait, a.Err.Status, time.Since(start)})
	}}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/" {
			return
		}
		switch n++; n {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}, func(t *testing.T, c *Client) {
		start = time.Now()
		_, desc := blobOf(10)
		_, err := c.BlobExists(t.Context(), repo, desc)
		fail.On(t, err)
		op := "looking for the blob " + desc.Digest.String()
		want := []told{
			{repo.Host, op, 2, time.Second, 503, 0},
			{repo.Host, op, 3, 7 * time.Second, 429, time.Second},
		}
		fail.Diff(t, want, got)
	})
}

// A host that became unreachable costs one wait, not one per blob, and is retried as usual after it
// has recovered.
func TestGoneHostIsWaitedForOnce(t *testing.T) {
	retries := 0
	inBubble(t, Options{Retry: Retry{Times: 3, Delay: time.Second}, OnRetry: func(RetryEvent) { retries++ }}, func(w http.ResponseWriter, r *http.Request) {
	}, func(t *testing.T, c *Client) {
		_, desc := blobOf(10)
		ask := func() error { _, err := c.BlobExists(t.Context(), repo, desc); return err }
		fail.On(t, ask())
		transport := c.peers[peerKey{hostKey: hostKey{repo.Host, false}}].transport
		dial := transport.DialContext
		away := true
		transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if away {
				return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
			}
			return dial(ctx, network, addr)
		}
		transport.CloseIdleConnections()
		for i, want := range []int{3, 0, 0} {
			retries = 0
			if err := ask(); !errors.Is(err, ErrUnreachable) {
				t.Errorf("question %d: %v", i, err)
			}
			if retries != want {
				t.Errorf("question %d was repeated %d times, want %d", i, retries, want)
			}
		}
		away = false
		fail.On(t, ask())
		transport.CloseIdleConnections()
		away, retries = true, 0
		if err := ask(); err == nil || retries != 3 {
			t.Errorf("after it was back: repeated %d times, want 3 (%v)", retries, err)
		}
	})
}

// A busy registry without TLS is retried at the first request, and not mistaken for one with the
// wrong protocol.
func TestBusyPlainHTTP(t *testing.T) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		busy := true
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if busy {
				busy = false
				w.WriteHeader(status)
			}
		}))
		defer s.Close()
		c, err := New(Options{Retry: Retry{Delay: time.Millisecond}})
		fail.On(t, err)
		defer c.Close()
		_, desc := blobOf(10)
		ref := repo
		ref.Host = s.Listener.Addr().String()
		if ok, err := c.BlobExists(t.Context(), ref, desc); err != nil || !ok {
			t.Errorf("%d: %v, %v", status, ok, err)
		}
	}
}

// A server from which nothing came in this run is tried for ten seconds, whatever the number of retries: a registry, the
// storage that it redirects to, its token realm, and a server of files. One that responded before is waited for.
func TestFirstContactIsShort(t *testing.T) {
	blob, desc := blobOf(10)
	misspelled := &net.DNSError{Err: "server misbehaving", Name: "cdn.example", IsTemporary: true}
	for name, tc := range map[string]struct {
		down  string // the address that cannot be reached
		cause error
		retry Retry
		read  func(t *testing.T, c *Client) error
		least time.Duration // of the waits
	}{
		"a registry":         {down: "registry.example:80", cause: syscall.ECONNREFUSED, least: 3 * time.Second},
		"its storage":        {down: "cdn.example:80", cause: syscall.ECONNREFUSED, least: 3 * time.Second},
		"an unknown name":    {down: "cdn.example:80", cause: misspelled, least: 3 * time.Second},
		"many retries":       {down: "registry.example:80", cause: syscall.ECONNREFUSED, retry: Retry{Times: 1000, Delay: time.Second}, least: firstContact - time.Second},
		"a long delay":       {down: "registry.example:80", cause: syscall.ECONNREFUSED, retry: Retry{Times: 5, Delay: time.Minute}},
		"connections break":  {down: "registry.example:80", cause: syscall.ECONNRESET, least: 0},
		"its token realm":    {down: "auth.example:80", cause: syscall.ECONNREFUSED, least: 3 * time.Second},
		"a server of graphs": {down: "web.example:80", cause: syscall.ECONNREFUSED, least: 3 * time.Second, read: getGraph},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Options{Retry: tc.retry}, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case tc.down == "auth.example:80":
					w.Header().Set("WWW-Authenticate", `Bearer realm="http://auth.example/token"`)
					w.WriteHeader(http.StatusUnauthorized)
				case r.URL.Path == "/v2/":
				case r.Host == repo.Host && tc.down == "cdn.example:80":
					http.Redirect(w, r, "http://cdn.example/x", http.StatusTemporaryRedirect)
				default:
					serve(blob)(w, r)
				}
			}, func(t *testing.T, c *Client) {
				dial := c.dial
				c.dial = func(ctx context.Context, network, addr string, check func(netip.Addr) error) (net.Conn, error) {
					if addr == tc.down {
						return nil, &net.OpError{Op: "dial", Net: network, Err: tc.cause}
					}
					return dial(ctx, network, addr, check)
				}
				read := tc.read
				if read == nil {
					read = func(t *testing.T, c *Client) error { _, err := c.Blob(t.Context(), repo, desc, 0); return err }
				}
				start := time.Now()
				err := read(t, c)
				if took := time.Since(start); !errors.Is(err, ErrUnreachable) || took > firstContact || took < tc.least {
					t.Errorf("took %s: %v", took, err)
				}
			})
		})
	}
}

func getGraph(t *testing.T, c *Client) error {
	_, err := c.Get(t.Context(), "http://web.example/graph", "", 100)
	return err
}

// A registry that responded once and is restarted is waited for with all retries, and found again.
func TestRestartedRegistryIsWaitedFor(t *testing.T) {
	_, desc := blobOf(10)
	inBubble(t, Options{}, func(http.ResponseWriter, *http.Request) {}, func(t *testing.T, c *Client) {
		_, err := c.BlobExists(t.Context(), repo, desc)
		fail.On(t, err)
		transport := c.peers[peerKey{hostKey: hostKey{repo.Host, false}}].transport
		dial, back := transport.DialContext, time.Now().Add(40*time.Second)
		transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if time.Now().Before(back) {
				return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
			}
			return dial(ctx, network, addr)
		}
		transport.CloseIdleConnections()
		if ok, err := c.BlobExists(t.Context(), repo, desc); err != nil || !ok {
			t.Error(ok, err)
		}
	})
}
