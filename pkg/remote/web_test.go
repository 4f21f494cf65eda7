package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// startWeb serves a page behind the answers of f.
func startWeb(t *testing.T, f *faults, page string) *httptest.Server {
	t.Helper()
	f.method = http.MethodGet
	s := httptest.NewServer(f.wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, page) })))
	t.Cleanup(s.Close)
	return s
}

// Every way in which reading an address fails: whether it is asked again, after
// which time, and what the error is in the end.
func TestGet(t *testing.T) {
	const page = "what is there"
	html := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		fmt.Fprint(w, "<html>a proxy</html>")
	}
	for _, tc := range []struct {
		name    string
		answers []http.HandlerFunc
		seen    int             // requests
		waits   []time.Duration // where they are not random
		want    error
		says    []string
	}{
		{name: "well", seen: 1},
		{name: "503 once", answers: repeat(1, status(503)), seen: 2},
		{name: "429, Retry-After", answers: repeat(2, status(429, "Retry-After", "7")), seen: 3, waits: []time.Duration{7 * time.Second, 7 * time.Second}},
		{name: "reset", answers: repeat(1, reset), seen: 2},
		{name: "short body", answers: repeat(2, partly([]byte(page), 5, false)), seen: 3},
		{name: "short for good", answers: repeat(9, partly([]byte(page), 5, false)), seen: 4, want: remote.ErrUnreachable, says: []string{"cut short", "after 4 attempts"}},
		{name: "502 for good", answers: repeat(9, html), seen: 4, want: remote.ErrFailing, says: []string{"bad gateway (HTTP 502)"}},
		{name: "stalled for good", answers: repeat(9, stalled), seen: 3, want: remote.ErrUnreachable, says: []string{"no data was transferred for"}},
		{name: "stalled in the body", answers: repeat(1, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, page[:5])
			_ = http.NewResponseController(w).Flush()
			stalled(w, r)
		}), seen: 2},
		{name: "404", answers: repeat(1, status(404)), seen: 1, want: fs.ErrNotExist, says: []string{"reading /a/b at ", "HTTP 404"}},
		{name: "403", answers: repeat(1, status(403)), seen: 1, want: remote.ErrUnauthorized, says: []string{"no credentials are sent", "proxy or firewall"}},
		{name: "401", answers: repeat(1, status(401, "WWW-Authenticate", "Basic realm=x")), seen: 1, want: remote.ErrUnauthorized, says: []string{"no credentials are sent"}},
		{name: "406", answers: repeat(1, status(406)), seen: 1, says: []string{"check the address: it does not serve text/plain"}},
		{name: "no content", answers: repeat(1, status(204)), seen: 1, says: []string{"no content (HTTP 204)"}},
		{name: "too large", answers: repeat(1, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 101)) }), seen: 1, says: []string{"larger than its limit of 100 bytes"}},
		{name: "too large, without a length", answers: repeat(1, func(w http.ResponseWriter, _ *http.Request) {
			for range 101 {
				fmt.Fprint(w, "x")
				_ = http.NewResponseController(w).Flush()
			}
		}), seen: 1, says: []string{"larger than its limit of 100 bytes"}},
		{name: "what an update service says", answers: repeat(1, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"kind":"missing_params","value":"mandatory client parameters missing: channel"}`)
		}), seen: 1, says: []string{"mandatory client parameters missing: channel (HTTP 400 missing_params)"}},
		{name: "http to a server of TLS", answers: repeat(1, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, "Client sent an HTTP request to an HTTPS server.")
		}), seen: 1, says: []string{"try an address with https://"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &faults{answers: tc.answers}
			s := startWeb(t, f, page)
			clock := newClock()
			c := newClient(t, remote.Options{Clock: clock, Retry: remote.Retry{Times: 3}, Timeouts: remote.Timeouts{IdleTimeout: patience(tc.name)}, Keychain: keys{Username: "u", Password: "p"}})
			got, err := c.Get(t.Context(), s.URL+"/a/b?sig=s3cret", "text/plain", 100)
			switch failed := tc.want != nil || tc.says != nil; {
			case !failed && (err != nil || string(got) != page):
				t.Errorf("got %q, %v", got, err)
			case failed && err == nil, tc.want != nil && !errors.Is(err, tc.want):
				t.Errorf("error %v, want %v", err, tc.want)
			}
			for _, s := range tc.says {
				if !strings.Contains(advice.Text(err), s) {
					t.Errorf("the error does not say %q: %v", s, err)
				}
			}
			if strings.Contains(advice.Text(err), "s3cret") {
				t.Errorf("the error shows the query: %v", err)
			}
			f.mu.Lock()
			seen := f.seen
			f.mu.Unlock()
			if seen != tc.seen || len(clock.waits) < tc.seen-1 {
				t.Errorf("%d requests and the waits %v, want %d requests", seen, clock.waits, tc.seen)
			}
			if tc.waits != nil {
				for i, want := range tc.waits { // that for the host's turn is a little longer
					if got := clock.waits[i]; got < want || got > want+5*time.Second {
						t.Errorf("wait %d is %s, want %s", i, got, want)
					}
				}
			}
			fail.Diff(t, map[string]int64{"GET web": int64(tc.seen)}, c.Stats().Requests)
		})
	}
}

// What is sent: the address as it was given, and no credentials.
func TestGetRequest(t *testing.T) {
	var got *http.Request
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { got = r })
	c := newClient(t, remote.Options{UserAgent: "gantry/1", Keychain: keys{Username: "u", Password: "p"}})
	if body, err := c.Get(t.Context(), s.URL+"/a%2Fb/sha256=1?z=1&a=%20#part", "application/json", 100); err != nil || len(body) != 0 {
		t.Fatal(body, err)
	}
	fail.Diff(t, "/a%2Fb/sha256=1?z=1&a=%20", got.RequestURI)
	want := http.Header{"Accept": {"application/json"}, "User-Agent": {"gantry/1"}}
	fail.Diff(t, want, got.Header)
	if _, err := c.Get(t.Context(), s.URL, "", 100); err != nil || got.RequestURI != "/" || got.Header.Get("Accept") != "" {
		t.Errorf("requested %s with %v, %v", got.RequestURI, got.Header, err)
	}
}

func TestGetAddress(t *testing.T) {
	c := newClient(t, remote.Options{})
	for address, says := range map[string]string{
		"":                          "not http or https",
		"example.com/graph":         "not http or https",
		"ftp://example.com/graph":   "not http or https",
		"file:///etc/passwd":        "not http or https",
		"https:///graph":            "not http or https",
		"https://a b/":              "malformed",
		"https://u:s3cret@host/a":   "contains credentials",
		"ftp://u:s3cret@host/a":     "not http or https",
		"https://u:s3cret@host/%zz": "malformed",
	} {
		_, err := c.Get(t.Context(), address, "", 100)
		if err == nil || !strings.Contains(advice.Text(err), says) || strings.Contains(advice.Text(err), "s3cret") {
			t.Errorf("%q: %v, want an error with %q", address, err, says)
		}
	}
	fail.Diff(t, int64(0), c.Stats().Requests["GET web"])
}

func TestGetTLS(t *testing.T) {
	ours := newAuthority(t, "Our CA")
	s := startTLS(t, ours, nil)
	host := repoAt(s, "").Host
	dir := t.TempDir()
	write(t, ours.pem, dir, host, "ca.crt")
	for _, tc := range []struct {
		name    string
		o       remote.Options
		address string
		want    error
		says    []string
	}{
		{name: "unknown CA", want: remote.ErrUntrusted, says: []string{"CN=Our CA", "/certs.d/" + host + "/ca.crt", "CertDir", "Options.Source.SkipTLSVerify"}},
		{name: "certs.d", o: remote.Options{CertDirs: []string{dir}}},
		{name: "not verified", o: remote.Options{SkipVerify: true}},
		// Neither switch changes what the address says.
		{name: "plain http for registries", o: remote.Options{PlainHTTP: true, CertDirs: []string{dir}}},
		{name: "http", o: remote.Options{SkipVerify: true}, address: "http://" + host + "/v2/", says: []string{"try an address with https://"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.o.Clock = newClock()
			c := newClient(t, tc.o)
			if tc.address == "" {
				tc.address = s.URL + "/v2/"
			}
			_, err := c.Get(t.Context(), tc.address, "", 100)
			if tc.says == nil && err != nil || tc.says != nil && err == nil || tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("got %v", err)
			}
			for _, s := range tc.says {
				if !strings.Contains(advice.Text(err), s) {
					t.Errorf("the error does not say %q: %v", s, err)
				}
			}
		})
	}
}

// Where a server may send us is decided as with registries.
func TestGetRedirects(t *testing.T) {
	for location, want := range map[string]string{
		"/moved":                         "update.example/moved",
		"https://cdn.example/x?sig=1":    "cdn.example/x?sig=1",
		"http://update.example/moved":    "",
		"https://127.0.0.1/x":            "",
		"https://169.254.169.254/latest": "",
		"https://u:s3cret@cdn.example/x": "",
		"javascript:alert(1)":            "",
		"https://update.example/graph":   "", // in a circle
	} {
		t.Run(location, func(t *testing.T) {
			c := newClient(t, remote.Options{
				SkipVerify: true, Clock: newClock(),
				Proxy: throughTLS(t, func(w http.ResponseWriter, r *http.Request) {
					if r.Host+r.URL.Path != "update.example/graph" {
						fmt.Fprint(w, r.Host+r.URL.RequestURI())
						return
					}
					http.Redirect(w, r, location, http.StatusFound)
				}),
			})
			got, err := c.Get(t.Context(), "https://update.example/graph", "", 100)
			if string(got) != want || (err != nil) != (want == "") {
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
			if err != nil && (!errors.Is(err, remote.ErrRefused) || strings.Contains(advice.Text(err), "s3cret") || strings.Contains(advice.Text(err), "registry")) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestGetUnreachable(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	clock := newClock()
	c := newClient(t, remote.Options{Clock: clock})
	_, err := c.Get(t.Context(), s.URL+"/graph", "", 100)
	if !errors.Is(err, remote.ErrUnreachable) || !strings.Contains(advice.Text(err), "HTTPS_PROXY") || len(clock.waits) < 4 || len(clock.waits) > 6 {
		t.Errorf("got %v after %v", err, clock.waits)
	}
}

func TestGetCancelled(t *testing.T) {
	s := startWeb(t, &faults{answers: repeat(20, status(503, "Retry-After", "299"))}, "")
	ctx, cancel := context.WithCancel(t.Context())
	told := false
	c := newClient(t, remote.Options{OnRetry: func(a remote.RetryEvent) { told = a.Err.Status == 503; cancel() }})
	if _, err := c.Get(ctx, s.URL, "", 100); !errors.Is(err, context.Canceled) || !told {
		t.Errorf("while it waits: %v", err)
	}

	reading, cancel := context.WithCancel(t.Context())
	s = startWeb(t, &faults{answers: repeat(1, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "a part")
		_ = http.NewResponseController(w).Flush()
		cancel()
		<-r.Context().Done()
	})}, "")
	if _, err := newClient(t, remote.Options{}).Get(reading, s.URL, "", 100); !errors.Is(err, context.Canceled) {
		t.Errorf("in the middle of the body: %v", err)
	}
	if _, err := c.Get(ctx, s.URL, "", 100); !errors.Is(err, context.Canceled) {
		t.Errorf("from the beginning: %v", err)
	}
}
