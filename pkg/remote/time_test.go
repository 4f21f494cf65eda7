package remote

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote/limits"
)

var repo = reference.Reference{Host: "registry.example", Path: "a"}

// A pipeListener accepts connections that need no network, so that time in
// tests is the test's own.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *pipeListener) Close() error   { return nil }
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// inBubble runs f with a Client of a registry that h plays, in its own time.
func inBubble(t *testing.T, o Options, h http.HandlerFunc, f func(t *testing.T, c *Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
		server := &http.Server{Handler: h}
		go server.Serve(l) //nolint:errcheck // it ends with the test
		o.PlainHTTP = true
		c, err := New(o)
		fail.On(t, err)
		c.dial = func(context.Context, string, string, func(netip.Addr) error) (net.Conn, error) {
			ours, theirs := net.Pipe()
			select {
			case l.conns <- theirs:
				return ours, nil
			case <-l.done: // the reader is gone
				return nil, net.ErrClosed
			}
		}
		f(t, c)
		c.Close()
		close(l.done)
		fail.On(t, server.Close())
	})
}

func blobOf(size int) ([]byte, ocispec.Descriptor) {
	b := bytes.Repeat([]byte("x"), size)
	return b, ocispec.Descriptor{Digest: digest.FromBytes(b), Size: int64(size)}
}

func serve(blob []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet:
			w.Header().Set("Content-Length", strconv.Itoa(len(blob)))
			_, _ = w.Write(blob)
		case http.MethodPost:
			w.Header().Set("Location", "/v2/upload")
			w.WriteHeader(http.StatusAccepted)
		case http.MethodPut:
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusCreated)
		}
	}
}

func open(b []byte) func(context.Context, int64) (io.ReadCloser, error) {
	return func(_ context.Context, offset int64) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(b[offset:])), nil
	}
}

// only is a file with limits of the registry of these tests.
func only(h limits.Host) *limits.Limits {
	h.Pattern = repo.Host
	return &limits.Limits{Hosts: []limits.Host{h}}
}

func TestLimits(t *testing.T) {
	blob, desc := blobOf(1 << 20)
	for name, tc := range map[string]struct {
		o    Options
		want time.Duration
	}{
		"none": {Options{}, 0},
		// A ping, then GET, POST and PUT: the first is free.
		"requests": {Options{Limits: only(limits.Host{RequestsPerSecond: 10})}, 300 * time.Millisecond},
		// A MiB in each direction; a twentieth of it is free.
		"bytes":        {Options{Rate: 1 << 20}, 1900 * time.Millisecond},
		"bytes of one": {Options{Limits: only(limits.Host{Rate: 1 << 20})}, 1900 * time.Millisecond},
		"the smaller":  {Options{Limits: only(limits.Host{Rate: 2 << 20}), Rate: 1 << 20}, 1900 * time.Millisecond},
		"a trickle":    {Options{Rate: 1 << 10}, 2046 * time.Second},
		"of another":   {Options{Limits: &limits.Limits{Hosts: []limits.Host{{Pattern: "other", Rate: 1 << 10}}}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, tc.o, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/v2/" {
					serve(blob)(w, r)
				}
			}, func(t *testing.T, c *Client) {
				start := time.Now()
				r, err := c.Blob(t.Context(), repo, desc, 0)
				fail.On(t, err)
				if n, err := io.Copy(io.Discard, r); n != desc.Size || err != nil {
					t.Fatal(n, err)
				}
				_ = r.Close()
				_, err = c.PushBlob(t.Context(), repo, desc, nil, open(blob))
				fail.On(t, err)
				if took := time.Since(start); took < tc.want || took > tc.want+10*time.Millisecond {
					t.Errorf("took %s, want %s", took, tc.want)
				}
			})
		})
	}
}

// A slow reader is not a stalled connection.
func TestSlowReaderIsNoStall(t *testing.T) {
	blob, desc := blobOf(1 << 20)
	inBubble(t, Options{}, serve(blob), func(t *testing.T, c *Client) {
		r, err := c.Blob(t.Context(), repo, desc, 0)
		fail.On(t, err)
		<-time.After(time.Hour)
		if n, err := io.Copy(io.Discard, r); n != desc.Size || err != nil || c.Stats().Retries != 0 {
			t.Errorf("%d bytes, %v, %d retries", n, err, c.Stats().Retries)
		}
		_ = r.Close()
	})
}

// A source that is slow to open or to read is not a stalled registry.
func TestSlowSourceIsNoStall(t *testing.T) {
	blob, desc := blobOf(1000)
	inBubble(t, Options{Side: Destination}, serve(blob), func(t *testing.T, c *Client) {
		_, err := c.PushBlob(t.Context(), repo, desc, nil, func(context.Context, int64) (io.ReadCloser, error) {
			<-time.After(time.Hour)
			r, w := io.Pipe()
			go func() {
				_, _ = w.Write(blob[:500])
				<-time.After(time.Hour)
				_, _ = w.Write(blob[500:])
				_ = w.Close()
			}()
			return r, nil
		})
		if err != nil || c.Stats().Retries != 0 {
			t.Errorf("%v, %d retries", err, c.Stats().Retries)
		}
	})
}

// A registry may take longer to join the parts of a large blob.
func TestJoiningPartsIsNoStall(t *testing.T) {
	blob, desc := blobOf(6 << 20)
	inBubble(t, Options{Side: Destination}, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPatch:
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusAccepted)
		case r.Method == http.MethodPut && r.ContentLength > 0:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case r.Method == http.MethodPut:
			<-time.After(80 * time.Second)
			w.WriteHeader(http.StatusCreated)
		default:
			serve(blob)(w, r)
		}
	}, func(t *testing.T, c *Client) {
		if _, err := c.PushBlob(t.Context(), repo, desc, nil, open(blob)); err != nil || c.Stats().Retries != 0 {
			t.Errorf("%v, %d retries", err, c.Stats().Retries)
		}
	})
}

// A registry that does not read the request, or does not respond, is retried after a minute; after
// the last byte, it has longer to store a large blob.
func TestStalls(t *testing.T) {
	for name, tc := range map[string]struct {
		size      int
		readFirst bool
		empty     bool // the last request has no body
		silent    time.Duration
		want      time.Duration
	}{
		"in the middle":         {size: 1 << 20, want: time.Minute},
		"after a small blob":    {size: 1<<20 - 1, readFirst: true, want: time.Minute},
		"after a large blob":    {size: 3 << 20, readFirst: true, want: time.Minute + 12*time.Second},
		"after an empty body":   {size: 3 << 20, readFirst: true, empty: true, want: time.Minute + 12*time.Second},
		"with a shorter limit":  {size: 10, readFirst: true, silent: 5 * time.Second, want: 5 * time.Second},
		"with a higher limit":   {size: 10, readFirst: true, silent: 20 * time.Minute, want: 20 * time.Minute},
		"in the middle, longer": {size: 1 << 20, silent: 20 * time.Minute, want: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			blob, desc := blobOf(tc.size)
			var stalled atomic.Bool
			inBubble(t, Options{Side: Destination, Timeouts: Timeouts{SilentTimeout: tc.silent}, Retry: Retry{Delay: time.Second}}, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPut && stalled.CompareAndSwap(false, true) {
					if tc.readFirst {
						_, _ = io.Copy(io.Discard, r.Body)
					}
					<-time.After(time.Hour)
					return
				}
				if r.Method == http.MethodPatch {
					_, _ = io.Copy(io.Discard, r.Body)
					w.WriteHeader(http.StatusAccepted)
					return
				}
				serve(blob)(w, r)
			}, func(t *testing.T, c *Client) {
				defer func() { <-time.After(2 * time.Hour) }() // the handler's hour has to pass
				start := time.Now()
				at, err := c.destination(repo)
				fail.On(t, err)
				at.h.noPut = tc.empty
				_, err = c.PushBlob(t.Context(), repo, desc, nil, open(blob))
				fail.On(t, err)
				if took := time.Since(start) - time.Second; took < tc.want || took > tc.want+gracePeriod {
					t.Errorf("took %s and the delay, want %s", took, tc.want)
				}
			})
		})
	}
}
