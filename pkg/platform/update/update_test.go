package update_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/update"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

const answer = `{"version":1,"nodes":[
{"version":"4.20.0","payload":"quay.io/example/release@sha256:0","metadata":{"io.openshift.upgrades.graph.release.channels":"fast-4.20,stable-4.20"}},
{"version":"4.20.1","payload":"quay.io/example/release@sha256:1","metadata":{"io.openshift.upgrades.graph.release.channels":"stable-4.20"}}],
"edges":[[0,1]],"conditionalEdges":[]}`

// client returns the program's Getter with short retries. idle is how long it waits for data.
func client(t *testing.T, idle time.Duration) *remote.Client {
	t.Helper()
	c, err := remote.New(remote.Options{
		CertDirs: []string{}, Proxy: http.ProxyURL(nil),
		Retry: remote.Retry{Times: 2, Delay: time.Millisecond}, Timeouts: remote.Timeouts{IdleTimeout: idle},
	})
	fail.On(t, err)
	t.Cleanup(c.Close)
	return c
}

// serve responds with f. asked returns the requests so far.
func serve(t *testing.T, f http.HandlerFunc) (url string, asked func() []*http.Request) {
	t.Helper()
	var mu sync.Mutex
	var list []*http.Request
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		list = append(list, r)
		mu.Unlock()
		f(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []*http.Request {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(list)
	}
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func TestGraph(t *testing.T) {
	url, asked := serve(t, says(http.StatusOK, answer))
	s := &update.Service{URL: url + "/v1/graph?token=s3cret&channel=x", Get: client(t, time.Minute)}
	g, from, err := s.Graph(t.Context(), "stable-4.20", "amd64")
	fail.On(t, err)
	if len(g.Nodes) != 2 || g.Nodes[g.Head()].Version.String() != "4.20.1" || len(g.From(0)) != 1 {
		t.Errorf("the graph is %+v", g)
	}
	if n := len(asked()); n != 1 {
		t.Fatalf("%d requests", n)
	}
	r := asked()[0]
	if want := "/v1/graph?arch=amd64&channel=stable-4.20&token=s3cret"; r.RequestURI != want || r.Method != http.MethodGet {
		t.Errorf("asked %s %s, want %s", r.Method, r.RequestURI, want)
	}
	fail.Diff(t, "application/json", r.Header.Get("Accept"))
	sum := sha256.Sum256([]byte(answer))
	want := update.Provenance{URL: url + "/v1/graph?arch=amd64&channel=stable-4.20", SHA256: hex.EncodeToString(sum[:])}
	fail.Diff(t, want, from)
}

// A getter records its request.
type getter struct{ address, body string }

func (g *getter) Get(_ context.Context, address, _ string, _ int64) ([]byte, error) {
	g.address = address
	return []byte(g.body), nil
}

func TestAddress(t *testing.T) {
	for _, tt := range []struct {
		product release.Product
		channel string
		want    string
	}{
		{"", "stable-4.20", "https://api.openshift.com/api/upgrades_info/v1/graph?arch=arm64&channel=stable-4.20"},
		{release.OCP, "eus-4.20", "https://api.openshift.com/api/upgrades_info/v1/graph?arch=arm64&channel=eus-4.20"},
		{release.OKD, "stable-scos-4", "https://origin-release.ci.openshift.org/graph?arch=arm64&channel=stable-scos-4"},
		{release.OKD, "stable-4", "https://origin-release.ci.openshift.org/graph?arch=arm64&channel=stable-4"},
		{release.OKD, "next", "https://origin-release.ci.openshift.org/graph?arch=arm64&channel=next"},
		// A release controller refuses these.
		{release.OKD, "4-stable", "https://origin-release.ci.openshift.org/graph?arch=arm64"},
		{release.OKD, "okd", "https://origin-release.ci.openshift.org/graph?arch=arm64"},
	} {
		get := &getter{body: `{"nodes":[{"version":"4.20.0","payload":"p"}],"edges":[]}`}
		_, from, err := (&update.Service{Product: tt.product, Get: get}).Graph(t.Context(), tt.channel, "arm64")
		if err != nil || get.address != tt.want || from.URL != tt.want {
			t.Errorf("%s %s asks %s (%s), %v, want %s", tt.product, tt.channel, get.address, from.URL, err, tt.want)
		}
	}
	// A printed address has no password. Refusing such an address is the Getter's task.
	get := &getter{body: "{}"}
	_, from, err := (&update.Service{URL: "https://user:s3cret@example.com/graph", Get: get}).Graph(t.Context(), "stable-4.20", "amd64")
	if want := "https://example.com/graph?arch=amd64&channel=stable-4.20"; from.URL != want || err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("the address is shown as %s, and in %v", from.URL, err)
	}
}

func TestQueryErrors(t *testing.T) {
	for _, tt := range []struct {
		url, channel string
		arch         release.Arch
		want         string
	}{
		{"", "Stable-4.20", "amd64", `channel "Stable-4.20": invalid channel name`},
		{"", "", "amd64", "invalid channel name"},
		{"", "stable-4.20&version=1", "amd64", "invalid channel name"},
		{"", "stable-4.20\n", "amd64", "invalid channel name"},
		{"", strings.Repeat("x", 254), "amd64", "invalid channel name"},
		{"", "stable-4.20", "", `unknown architecture ""`},
		{"", "stable-4.20", "amd46", `did you mean "amd64"`},
		{"", "stable-4.20", "x86_64", `do not know the architecture "x86_64"`},
		{"https://u:s3cret@host/%zz", "stable-4.20", "amd64", "malformed"},
		{"https://host/graph?%zz=s3cret", "stable-4.20", "amd64", "the query in the address of the update service at host is malformed"},
	} {
		get := &getter{}
		_, _, err := (&update.Service{URL: tt.url, Get: get}).Graph(t.Context(), tt.channel, tt.arch)
		if err == nil || !strings.Contains(advice.Text(err), tt.want) || strings.Contains(advice.Text(err), "s3cret") || advice.KindOf(err) != advice.Input {
			t.Errorf("%q %q %q: %v, want an error with %q", tt.url, tt.channel, tt.arch, err, tt.want)
		}
		fail.Diff(t, "", get.address)
	}
}

// TestResponses covers what a server may send in place of a graph: each is an error with a remedy.
func TestResponses(t *testing.T) {
	const check = "check that this is the address of an update service"
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		times  int
		want   error
		says   []string
	}{
		{"not acceptable", says(http.StatusNotAcceptable, `{"kind":"invalid_content_type","value":"invalid Content-Type requested"}`), 1, nil,
			[]string{"channel stable-4.20 for amd64", "invalid Content-Type requested (HTTP 406 invalid_content_type)", "application/json", "check the address"}},
		{"bad request", says(http.StatusBadRequest, `{"kind":"invalid_params","value":"channel is odd"}`), 1, nil, []string{"channel is odd (HTTP 400 invalid_params)"}},
		{"failing", says(http.StatusInternalServerError, `{"kind":"failed_upstream_fetch","value":"no graph yet"}`), 3, remote.ErrFailing, []string{"no graph yet (HTTP 500 failed_upstream_fetch)", "after 3 attempts"}},
		{"absent", says(http.StatusNotFound, "404 page not found"), 1, fs.ErrNotExist, []string{"there is no update service at http://", "check the address of the update service"}},
		{"forbidden", says(http.StatusForbidden, "<html>blocked</html>"), 1, remote.ErrUnauthorized, []string{"proxy or firewall"}},
		{"login page", says(http.StatusOK, "<!DOCTYPE html><title>Log in</title>"), 1, nil, []string{"HTML page", check, "proxy"}},
		{"empty body", says(http.StatusOK, ""), 1, nil, []string{"the response is empty", check}},
		{"other JSON", says(http.StatusOK, `{"kind":"x","value":"y"}`), 1, nil, []string{`"nodes" is missing`, check}},
		{"truncated JSON", says(http.StatusOK, answer[:300]), 1, nil, []string{"cut short after", "run again"}},
		{"truncated body", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
			fmt.Fprint(w, answer[:300])
		}, 3, remote.ErrUnreachable, []string{"cut short"}},
		{"slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 3, remote.ErrUnreachable, []string{"no data was transferred for"}},
		{"two versions alike", says(http.StatusOK, strings.Replace(answer, "4.20.1", "4.20.0", 1)), 1, nil, []string{"4.20.0 occurs twice"}},
		{"of another channel", says(http.StatusOK, strings.Replace(answer, `"stable-4.20"`, `"fast-4.20,stable-4.21"`, 1)), 1, nil,
			[]string{"4.20.1, which is not in channel stable-4.20 but in fast-4.20, stable-4.21", "check the address"}},
		{"of another architecture", says(http.StatusOK, strings.Replace(answer, `"metadata":{`, `"metadata":{"release.openshift.io/architecture":"multi",`, 1)), 1, nil,
			[]string{"4.20.0 for all architectures, and amd64 was requested"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url, asked := serve(t, tt.answer)
			idle := time.Minute
			if tt.name == "slow" {
				idle = 100 * time.Millisecond
			}
			g, _, err := (&update.Service{URL: url, Get: client(t, idle)}).Graph(t.Context(), "stable-4.20", "amd64")
			if err == nil || g != nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Fatalf("got %v, %v, want an error that is %v", g, err, tt.want)
			}
			for _, s := range tt.says {
				if !strings.Contains(advice.Text(err), s) {
					t.Errorf("the error does not say %q: %v", s, err)
				}
			}
			fail.Diff(t, tt.times, len(asked()))
		})
	}
}

func TestUnknownChannel(t *testing.T) {
	url, _ := serve(t, says(http.StatusOK, `{"version":1,"nodes":[],"edges":[],"conditionalEdges":[]}`))
	s := &update.Service{URL: url, Get: client(t, time.Minute), Channels: []string{"stable-4.20", "eus-4.18"}}
	_, _, err := s.Graph(t.Context(), "stabel-4.20", release.Multi)
	var unknown *update.UnknownChannelError
	if !errors.As(err, &unknown) {
		t.Fatalf("got %v", err)
	}
	fail.Diff(t, &update.UnknownChannelError{Channel: "stabel-4.20", Arch: release.Multi, URL: url + "?arch=multi&channel=stabel-4.20", Channels: s.Channels}, unknown)
	for _, want := range []string{"channel stabel-4.20 has no releases for multi at " + url, `did you mean "stable-4.20"?`} {
		if !strings.Contains(advice.Text(err), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	for _, known := range [][]string{nil, {"stabel-4.20"}} {
		s.Channels = known
		if _, _, err := s.Graph(t.Context(), "stabel-4.20", release.Multi); err == nil || !strings.HasSuffix(advice.Text(err), "check its name") {
			t.Errorf("without a suggestion: %v", err)
		}
	}
}
