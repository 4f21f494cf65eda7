package remote

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
		if _, err := c.BlobExists(t.Context(), repo, desc); err != nil {
			t.Fatal(err)
		}
		op := "looking for the blob " + desc.Digest.String()
		want := []told{
			{repo.Host, op, 2, time.Second, 503, 0},
			{repo.Host, op, 3, 7 * time.Second, 429, time.Second},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
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
		if err := ask(); err != nil {
			t.Fatal(err)
		}
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
		if err := ask(); err != nil {
			t.Error(err)
		}
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
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, desc := blobOf(10)
		ref := repo
		ref.Host = s.Listener.Addr().String()
		if ok, err := c.BlobExists(t.Context(), ref, desc); err != nil || !ok {
			t.Errorf("%d: %v, %v", status, ok, err)
		}
	}
}
