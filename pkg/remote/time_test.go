package remote

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

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
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			select {
			case l.conns <- theirs:
				return ours, nil
			case <-l.done: // nobody waits for it any more
				return nil, net.ErrClosed
			}
		}}
		c.transports[place{repo.Host, false}] = transport
		f(t, c)
		c.Close()
		close(l.done)
		if err := server.Close(); err != nil {
			t.Error(err)
		}
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
		// A MiB in each direction, of which a twentieth is free.
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
				if err != nil {
					t.Fatal(err)
				}
				if n, err := io.Copy(io.Discard, r); n != desc.Size || err != nil {
					t.Fatal(n, err)
				}
				_ = r.Close()
				if _, err := c.PushBlob(t.Context(), repo, desc, nil, open(blob)); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took < tc.want || took > tc.want+10*time.Millisecond {
					t.Errorf("took %s, want %s", took, tc.want)
				}
			})
		})
	}
}

// A reader that takes its time is not a connection that stalls.
func TestSlowReaderIsNoStall(t *testing.T) {
	blob, desc := blobOf(1 << 20)
	inBubble(t, Options{}, serve(blob), func(t *testing.T, c *Client) {
		r, err := c.Blob(t.Context(), repo, desc, 0)
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Hour)
		if n, err := io.Copy(io.Discard, r); n != desc.Size || err != nil || c.Stats().Retries != 0 {
			t.Errorf("%d bytes, %v, %d retries", n, err, c.Stats().Retries)
		}
		_ = r.Close()
	})
}

// A source that is slow to open or to read is no stall of the registry either.
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

// A registry that is sent a blob in parts takes its time to put them together.
func TestPuttingTogetherIsNoStall(t *testing.T) {
	blob, desc := blobOf(1000)
	inBubble(t, Options{Side: Destination}, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPatch:
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusAccepted)
		case r.Method == http.MethodPut && r.ContentLength > 0:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case r.Method == http.MethodPut:
			<-time.After(4 * time.Minute)
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

// A registry that does not read what it is sent, or does not answer, is tried
// again after a minute; after the last byte it has five.
func TestStalls(t *testing.T) {
	blob, desc := blobOf(1 << 20)
	for name, tc := range map[string]struct {
		readFirst bool
		want      time.Duration
	}{
		"in the middle":       {false, time.Minute},
		"after the last byte": {true, 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			var stalled atomic.Bool
			inBubble(t, Options{Side: Destination, Retry: Retry{Delay: time.Second}}, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPut && stalled.CompareAndSwap(false, true) {
					if tc.readFirst {
						_, _ = io.Copy(io.Discard, r.Body)
					}
					<-time.After(time.Hour)
					return
				}
				serve(blob)(w, r)
			}, func(t *testing.T, c *Client) {
				defer func() { <-time.After(2 * time.Hour) }() // the handler's hour has to pass
				start := time.Now()
				if _, err := c.PushBlob(t.Context(), repo, desc, nil, open(blob)); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start) - time.Second; took < tc.want || took > tc.want+farewell {
					t.Errorf("took %s and the delay, want %s", took, tc.want)
				}
			})
		})
	}
}
