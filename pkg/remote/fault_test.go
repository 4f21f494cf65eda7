package remote_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// A fakeClock stops except for waits, which return at once and are recorded.
type fakeClock struct {
	mu    sync.Mutex
	now   time.Time
	waits []time.Duration
}

func newClock() *fakeClock {
	return &fakeClock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) Wait(ctx context.Context, d time.Duration) error {
	c.advance(d)
	c.mu.Lock()
	c.waits = append(c.waits, d)
	c.mu.Unlock()
	return ctx.Err()
}

func (c *fakeClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// faults responds to the first requests that match a method and a part of the path, one response
// after the other, and forwards the rest.
type faults struct {
	mu      sync.Mutex
	method  string
	part    string
	answers []http.HandlerFunc
	seen    int
}

func (f *faults) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer http.HandlerFunc
		f.mu.Lock()
		if r.Method == f.method && strings.Contains(r.URL.Path, f.part) {
			if f.seen++; len(f.answers) > 0 {
				answer, f.answers = f.answers[0], f.answers[1:]
			}
		}
		f.mu.Unlock()
		if answer != nil {
			answer(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(code)
		_, _ = fmt.Fprint(w, `{"errors":[{"code":"SCRIPTED","message":"as the test needs it"}]}`)
	}
}

// reset resets the connection without a response.
func reset(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	_ = conn.(*net.TCPConn).SetLinger(0)
	_ = conn.Close()
}

// partly sends the first n bytes of body from the requested range, and then breaks off. With ranges
// == false, the server ignores Range.
func partly(body []byte, n int, ranges bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		start := 0
		code := http.StatusOK
		if rg := r.Header.Get("Range"); rg != "" && ranges {
			_, _ = fmt.Sscanf(rg, "bytes=%d-", &start)
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", start, len(body)-1, len(body)))
			code = http.StatusPartialContent
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(body)-start))
		w.WriteHeader(code)
		_, _ = w.Write(body[start:min(start+n, len(body))])
	}
}

// patience is the IdleTimeout of a test: short if something stalls.
func patience(test string) time.Duration {
	if strings.Contains(test, "stall") {
		return time.Second // requests must reach the registry before that, on a busy machine too
	}
	return 0
}

// stalled sends nothing until the client gives up.
func stalled(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func repeat(n int, f http.HandlerFunc) []http.HandlerFunc {
	list := make([]http.HandlerFunc, n)
	for i := range list {
		list[i] = f
	}
	return list
}

func seed(t *testing.T, s *httptest.Server, blob, manifest []byte) {
	t.Helper()
	c := newClient(t, remote.Options{Side: remote.Destination})
	repo := repoAt(s, "org/name")
	_, err := c.PushBlob(t.Context(), repo, describe(blob), nil, opener(blob))
	fail.On(t, err)
	fail.On(t, c.PushManifest(t.Context(), repo.WithTag("v1"), "application/vnd.oci.image.manifest.v1+json", manifest))
}

// Every way in which a request fails: whether it is retried, after which time, and with which error
// it ends.
func TestRetries(t *testing.T) {
	blob := bytes.Repeat([]byte("0123456789abcdef"), 8192)
	manifest := manifestOf([]byte("{}"), blob)
	clock := newClock()
	for _, tc := range []struct {
		name    string
		part    string // "/manifests/" or "/blobs/"
		answers []http.HandlerFunc
		waits   []time.Duration // before each attempt; nil: growing ones, with jitter
		cancel  bool            // the context ends during the first wait
		want    error           // nil: success
		status  int             // of the *Error
		seen    int             // requests that reached the registry
	}{
		{name: "429 with seconds", part: "/manifests/", answers: repeat(1, status(429, "Retry-After", "7")), waits: []time.Duration{7 * time.Second}, seen: 2},
		{name: "429 with a date", part: "/manifests/", answers: repeat(1, status(429, "Retry-After", clock.Now().Add(90*time.Second).Format(http.TimeFormat))), waits: []time.Duration{90 * time.Second}, seen: 2},
		{name: "429 for an hour is cut to five minutes", part: "/manifests/", answers: repeat(1, status(429, "Retry-After", "3600")), waits: []time.Duration{5 * time.Minute}, seen: 2},
		{name: "429 for longer than can be counted", part: "/manifests/", answers: repeat(1, status(429, "Retry-After", "99999999999999999999")), waits: []time.Duration{5 * time.Minute}, seen: 2},
		{name: "429 without a time", part: "/manifests/", answers: repeat(2, status(429)), seen: 3},
		{name: "429 with a date that is past", part: "/manifests/", answers: repeat(1, status(429, "Retry-After", clock.Now().Add(-time.Hour).Format(http.TimeFormat))), seen: 2},
		{name: "429 and an interruption", part: "/manifests/", answers: repeat(9, status(429, "Retry-After", "7")), waits: []time.Duration{7 * time.Second}, cancel: true, want: context.Canceled, seen: 1},
		{name: "503 with seconds", part: "/blobs/", answers: repeat(1, status(503, "Retry-After", "20")), waits: []time.Duration{20 * time.Second}, seen: 2},
		{name: "500", part: "/blobs/", answers: repeat(1, status(500)), seen: 2},
		{name: "502", part: "/manifests/", answers: repeat(1, status(502)), seen: 2},
		{name: "504", part: "/manifests/", answers: repeat(1, status(504)), seen: 2},
		{name: "501 is not tried again", part: "/manifests/", answers: repeat(9, status(501)), status: 501, seen: 1},
		{name: "400 is not tried again", part: "/manifests/", answers: repeat(9, status(400)), status: 400, seen: 1},
		{name: "503 once", part: "/blobs/", answers: repeat(1, status(503)), seen: 2},
		{name: "503 for ever", part: "/blobs/", answers: repeat(10, status(503)), status: 503, seen: 9},
		{name: "408", part: "/blobs/", answers: repeat(1, status(408)), seen: 2},
		{name: "reset", part: "/manifests/", answers: repeat(2, reset), seen: 3},
		{name: "503 and an interruption", part: "/blobs/", answers: repeat(9, status(503)), cancel: true, want: context.Canceled, seen: 1},
		{name: "a manifest cut short", part: "/manifests/", answers: repeat(1, partly(manifest, 20, true)), seen: 2},
		{name: "a truncated blob is continued with Range", part: "/blobs/", answers: repeat(3, partly(blob, 1000, true)), seen: 4},
		{name: "a blob cut short without Range", part: "/blobs/", answers: repeat(2, partly(blob, 1000, false)), seen: 3},
		{name: "a blob that never comes on", part: "/blobs/", answers: repeat(10, partly(blob, 0, true)), want: remote.ErrUnreachable, seen: 9},
		{name: "a stall", part: "/blobs/", answers: repeat(1, stalled), seen: 2},
		{name: "401 is not tried again", part: "/manifests/", answers: repeat(9, status(401)), want: remote.ErrUnauthorized, status: 401, seen: 1},
		{name: "403 is not tried again", part: "/blobs/", answers: repeat(9, status(403)), want: remote.ErrUnauthorized, status: 403, seen: 1},
		{name: "404 is not tried again", part: "/blobs/", answers: repeat(9, status(404)), want: remote.ErrNotFound, status: 404, seen: 1},
		{name: "wrong bytes of the right length", part: "/blobs/", answers: repeat(9, partly(bytes.Repeat([]byte("x"), len(blob)), len(blob), true)), want: remote.ErrMismatch, seen: 1},
		{name: "a blob of another length", part: "/blobs/", answers: repeat(9, partly(blob[1:], len(blob), true)), want: remote.ErrMismatch, seen: 1},
		{name: "a wrong Docker-Content-Digest", part: "/manifests/", answers: repeat(9, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Docker-Content-Digest", describe(blob).Digest.String())
			_, _ = w.Write(manifest)
		}), want: remote.ErrMismatch, seen: 2},
		{name: "a manifest that is too large", part: "/manifests/", answers: repeat(9, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "8388609")
			w.WriteHeader(http.StatusOK)
		}), status: -1, seen: 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &faults{method: http.MethodGet, part: tc.part}
			s := startRegistry(t, f.wrap)
			seed(t, s, blob, manifest)
			f.answers = tc.answers
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var waits []time.Duration
			c := newClient(t, remote.Options{Clock: newClock(), Timeouts: remote.Timeouts{IdleTimeout: patience(tc.name)}, OnRetry: func(a remote.RetryEvent) {
				if waits = append(waits, a.Wait); tc.cancel {
					cancel()
				}
			}})
			var got []byte
			var err error
			if tc.part == "/blobs/" {
				got, err = readBlob(ctx, c, s, blob)
			} else {
				_, got, err = c.Manifest(ctx, repoAt(s, "org/name").WithTag("v1"))
			}
			content := map[string][]byte{"/blobs/": blob, "/manifests/": manifest}[tc.part]
			var e *remote.Error
			switch {
			case tc.want == nil && tc.status == 0:
				if err != nil || !bytes.Equal(got, content) {
					t.Errorf("got %d bytes, %v", len(got), err)
				}
			case err == nil:
				t.Errorf("got %d bytes and no error", len(got))
			case tc.want != nil && !errors.Is(err, tc.want):
				t.Errorf("the error is not %q: %v", tc.want, err)
			case tc.status > 0 && (!errors.As(err, &e) || e.Status != tc.status):
				t.Errorf("the error is not one of HTTP %d: %v", tc.status, err)
			}
			f.mu.Lock()
			seen := f.seen
			f.mu.Unlock()
			fail.Diff(t, tc.seen, seen)
			if diff := cmp.Diff(tc.waits, waits); diff != "" && tc.waits != nil {
				t.Errorf("waits: %s", diff)
			}
			for i, d := range waits {
				most := min(500*time.Millisecond<<i, 30*time.Second)
				if tc.waits == nil && (d < most/2 || d > most) {
					t.Errorf("wait %d is %s, want half of %s to all of it", i, d, most)
				}
			}
			fail.Diff(t, int64(len(waits)), c.Stats().Retries)
		})
	}
}

func readBlob(ctx context.Context, c *remote.Client, s *httptest.Server, blob []byte) ([]byte, error) {
	return readBlobOf(ctx, c, repoAt(s, "org/name"), blob)
}

func readBlobOf(ctx context.Context, c *remote.Client, repo reference.Reference, blob []byte) ([]byte, error) {
	r, err := c.Blob(ctx, repo, describe(blob), 0)
	if err != nil {
		return nil, err
	}
	got, err := io.ReadAll(r)
	return got, errors.Join(err, r.Close())
}

// A reader by length never sees the error in place of io.EOF, so the last bytes must be missing.
func TestWrongBlobIsNeverWhole(t *testing.T) {
	blob := []byte("0123456789")
	f := &faults{method: http.MethodGet, part: "/blobs/"}
	s := startRegistry(t, f.wrap)
	f.answers = repeat(1, partly([]byte("012345678X"), 10, true))
	c := newClient(t, remote.Options{})
	r, err := c.Blob(t.Context(), repoAt(s, "org/name"), describe(blob), 0)
	fail.On(t, err)
	defer r.Close()
	if !layout.Verifies(r, describe(blob)) || layout.Verifies(r, describe([]byte("x"))) {
		t.Error("the reader does not say what it compares its bytes with")
	}
	if n, err := io.ReadFull(r, make([]byte, len(blob))); err == nil || n == len(blob) {
		t.Errorf("ReadFull gave %d bytes, %v", n, err)
	}
}
