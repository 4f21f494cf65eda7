package registrytest

import (
	"errors"
	"net/http"
	"syscall"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestCDN(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{Auth: TokenAuth})
	img, err := Image("far away")
	fail.On(t, err)
	_, err = s.Client().Push(t.Context(), "org/app", "v1", img)
	fail.On(t, err)
	cdn := s.CDN()
	s.Script(Rule{Method: http.MethodGet, Path: "/blobs/sha256:", Action: Redirect(cdn)})
	_, err = s.Client().Pull(t.Context(), "org/app", "v1")
	fail.On(t, err)
	log := cdn.Log()
	if len(log) == 0 {
		t.Fatal("the CDN was not asked")
	}
	for _, r := range log {
		if r.Status != http.StatusOK || r.Authorized || !r.Whole {
			t.Errorf("%+v", r)
		}
	}
	for _, tc := range []struct {
		query, authorization string
		want                 int
	}{{"?signature=s", "Basic eDp5", http.StatusBadRequest}, {"", "", http.StatusForbidden}} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+cdn.Host+log[0].Path+tc.query, http.NoBody)
		fail.On(t, err)
		if tc.authorization != "" {
			req.Header.Set("Authorization", tc.authorization)
		}
		resp, err := http.DefaultClient.Do(req)
		fail.On(t, err)
		_ = resp.Body.Close()
		if resp.StatusCode != tc.want {
			t.Errorf("%+v: %d", tc, resp.StatusCode)
		}
	}
}

func TestShutAndOpen(t *testing.T) {
	t.Parallel()
	s := New(t, Options{})
	ping := func() error {
		c := s.Client()
		defer c.http.CloseIdleConnections()
		resp, err := c.send(t.Context(), request{method: http.MethodGet, path: "/v2/"})
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
	for range 2 {
		fail.On(t, ping())
		s.Shut()
		if err := ping(); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%v, want a refused connection", err)
		}
		s.Open()
	}
}

func TestLogTellsWhatWasSent(t *testing.T) {
	t.Parallel()
	img, err := Image("log")
	fail.On(t, err)
	raw, err := img.RawManifest()
	fail.On(t, err)
	size := int64(len(raw))
	for _, tc := range []struct {
		name string
		rule Rule
		want Request
	}{
		{"all", Rule{Path: "nothing"}, Request{Status: 200, Sent: size, Whole: true}},
		{"cut", Rule{Action: Cut(10)}, Request{Status: 200, Sent: 10, Faulted: true}},
		{"short", Rule{Action: ShortBody(10)}, Request{Status: 200, Sent: 10, Whole: true, Faulted: true}},
		{"reset", Rule{Action: Reset()}, Request{Faulted: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := New(t, Options{})
			_, err := s.Client().Push(t.Context(), "org/app", "v1", img)
			fail.On(t, err)
			s.Script(tc.rule)
			s.ResetLog()
			_, _, _, _ = fetch(t.Context(), s)
			s.front.Close() // the log is complete
			tc.want.Method, tc.want.Path = http.MethodGet, "/v2/org/app/manifests/v1"
			fail.Diff(t, []Request{tc.want}, s.Log())
		})
	}
}
