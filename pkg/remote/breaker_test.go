package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// A registry that fails for every upload is waited for once; one that fails for one blob is retried
// for each as usual.
func TestFailingWritesAreWaitedForOnce(t *testing.T) {
	retries, full := 0, true
	var bad string
	blob, desc := blobOf(10)
	other, second := blobOf(11)
	inBubble(t, Options{Retry: Retry{Times: 3, Delay: time.Second}, OnRetry: func(RetryEvent) { retries++ }}, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && (full || bad != "" && strings.Contains(r.URL.RawQuery, bad)) {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		serve(blob)(w, r)
	}, func(t *testing.T, c *Client) {
		push := func(raw []byte, d int) error {
			of := desc
			if d == 1 {
				of = second
			}
			_, err := c.PushBlob(t.Context(), repo, of, nil, func(context.Context, int64) (io.ReadCloser, error) {
				return io.NopCloser(bytes.NewReader(raw)), nil
			})
			return err
		}
		for i, want := range []int{3, 0, 0} {
			retries = 0
			if err := push(blob, 0); !errors.Is(err, ErrFailing) || retries != want {
				t.Errorf("upload %d was repeated %d times, want %d (%v)", i, retries, want, err)
			}
		}
		// What it still does is tried as ever.
		if ok, err := c.BlobExists(t.Context(), repo, desc); err != nil || !ok {
			t.Errorf("reading: %v, %v", ok, err)
		}
		full = false
		fail.On(t, push(blob, 0))
		bad = second.Digest.Encoded()
		for i := range 2 {
			retries = 0
			if err := push(other, 1); err == nil || i == 0 && retries != 3 {
				t.Errorf("a bad blob was repeated %d times, want 3 (%v)", retries, err)
			}
			fail.On(t, push(blob, 0))
		}
		fail.Diff(t, 3, retries)
	})
}

// Unreachable storage behind a registry, such as a CDN blocked by a firewall, is waited for once,
// although the registry itself responds; so is content that breaks every connection.
func TestStorageBehindARegistryIsWaitedForOnce(t *testing.T) {
	raw, desc := blobOf(10)
	for name, away := range map[string]bool{"not there": true, "breaks": false} {
		t.Run(name, func(t *testing.T) {
			retries := 0
			inBubble(t, Options{Retry: Retry{Times: 3, Delay: time.Second}, OnRetry: func(RetryEvent) { retries++ }}, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Method == http.MethodGet && r.URL.Path != "/v2/" && away:
					http.Redirect(w, r, "http://cdn.example/x", http.StatusTemporaryRedirect)
				case r.Method == http.MethodGet && r.URL.Path != "/v2/":
					if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
						_ = conn.Close()
					}
				default:
					serve(raw)(w, r)
				}
			}, func(t *testing.T, c *Client) {
				dial := c.dial
				c.dial = func(ctx context.Context, network, addr string, check func(netip.Addr) error) (net.Conn, error) {
					if addr == "cdn.example:80" {
						return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
					}
					return dial(ctx, network, addr, check)
				}
				for i, want := range []int{3, 0, 0} {
					retries = 0
					if _, err := c.Blob(t.Context(), repo, desc, 0); !errors.Is(err, ErrUnreachable) || errors.Is(err, ErrBroken) == away || retries != want {
						t.Errorf("blob %d was requested again %d times, want %d (%v)", i, retries, want, err)
					}
				}
				// The registry does the rest.
				if ok, err := c.BlobExists(t.Context(), repo, desc); err != nil || !ok {
					t.Errorf("a blob: %v, %v", ok, err)
				}
				_, err := c.PushBlob(t.Context(), repo, desc, nil, open(raw))
				fail.On(t, err)
			})
		})
	}
}

// If other requests of its class succeeded meanwhile, a request that is given up says nothing about
// the registry.
func TestOneFailureAmongOthersBreaksNothing(t *testing.T) {
	var b breaker
	put := &request{kind: "upload", method: http.MethodPut}
	since := b.successCount(writes)
	b.answered(put, http.StatusCreated)
	if b.gaveUp(writes, since); b.isBroken(writes) {
		t.Error("one bad blob breaks the writes")
	}
	if b.gaveUp(writes, b.successCount(writes)); !b.isBroken(writes) || b.isBroken(blobReads) {
		t.Error("writes are to be broken, and reads are not")
	}
	b.answered(&request{kind: "upload", method: http.MethodPost}, http.StatusAccepted)
	b.answered(&request{kind: "upload", method: http.MethodPatch}, http.StatusAccepted)
	b.answered(&request{kind: "manifest", method: http.MethodHead}, http.StatusOK)
	if !b.isBroken(writes) {
		t.Error("an upload that was opened is taken for one that arrived")
	}
	b.answered(&request{kind: "manifest", method: http.MethodPut}, http.StatusCreated)
	if b.isBroken(writes) {
		t.Error("writes stay broken though one went well")
	}
}

// A read-only registry responds with a code, or like CNCF distribution with the methods that it
// allows. 405 without either may concern one mode of uploading.
func TestReadOnlyRegistry(t *testing.T) {
	for _, tc := range []struct {
		allow, body string
		want        bool
	}{
		{"", `{"errors":[{"code":"UNSUPPORTED","message":"The operation is unsupported."}]}`, true},
		{"GET, HEAD", "Method not allowed", true},
		{"GET, POST", "Method not allowed", false},
		{"", "Method not allowed", false},
	} {
		var asked atomic.Int32
		inBubble(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost && r.Method != http.MethodPut {
				return
			}
			asked.Add(1)
			if tc.allow != "" {
				w.Header().Set("Allow", tc.allow)
			}
			w.WriteHeader(http.StatusMethodNotAllowed)
			_, _ = io.WriteString(w, tc.body)
		}, func(t *testing.T, c *Client) {
			raw, desc := blobOf(10)
			_, err := c.PushBlob(t.Context(), repo, desc, nil, nil)
			if errors.Is(err, ErrReadOnly) != tc.want || !strings.Contains(advice.Text(err), repo.Host) || asked.Load() != 1 || tc.want && !strings.Contains(advice.Text(err), "read-only") {
				t.Errorf("%+v: %v, after %d requests", tc, err, asked.Load())
			}
			if err := c.PushManifest(t.Context(), repo.WithTag("v1"), "application/json", raw); errors.Is(err, ErrReadOnly) != (tc.want || tc.allow == "GET, POST") {
				t.Errorf("%+v: a manifest: %v", tc, err)
			}
		})
	}
}

// An outage is logged in two lines: its beginning and its end.
func TestOutageIsLoggedOnce(t *testing.T) {
	var lines bytes.Buffer
	log := slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.LevelWarn}))
	inBubble(t, Options{Log: log, Retry: Retry{Times: 5, Delay: time.Second}}, func(http.ResponseWriter, *http.Request) {}, func(t *testing.T, c *Client) {
		_, desc := blobOf(10)
		ask := func() error { _, err := c.BlobExists(t.Context(), repo, desc); return err }
		fail.On(t, ask())
		transport := c.peers[peerKey{hostKey: hostKey{repo.Host, false}}].transport
		dial, back := transport.DialContext, time.Now().Add(2500*time.Millisecond)
		transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if time.Now().Before(back) {
				return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
			}
			return dial(ctx, network, addr)
		}
		transport.CloseIdleConnections()
		done := make(chan error)
		for range 20 {
			go func() { done <- ask() }()
		}
		for range 20 {
			fail.On(t, <-done)
		}
		logged := strings.Split(strings.TrimSpace(lines.String()), "\n")
		if len(logged) != 2 || !strings.Contains(logged[0], "upTo=5s") || !strings.Contains(logged[1], "responds again") {
			t.Errorf("%d lines:\n%s", len(logged), lines.String())
		}
	})
}
