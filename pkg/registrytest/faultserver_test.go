package registrytest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// An upload is the upload of one blob to org/app.
type upload struct {
	t        *testing.T
	c        *Client
	data     []byte
	location *url.URL
}

func newUpload(t *testing.T, s *Server, size int) *upload {
	t.Helper()
	u := &upload{t: t, c: s.Client(), data: bytes.Repeat([]byte{'x'}, size)}
	resp, err := u.c.do(t.Context(), request{method: http.MethodPost, repository: "org/app", path: "blobs/uploads/"}, http.StatusAccepted)
	fail.On(t, err)
	_ = resp.Body.Close()
	if u.location, err = resp.Location(); err != nil {
		t.Fatal(err)
	}
	return u
}

func (u *upload) digest() digest.Digest { return digest.FromBytes(u.data) }

func (u *upload) put() error {
	q := u.location.Query()
	q.Set("digest", u.digest().String())
	at := *u.location
	at.RawQuery = q.Encode()
	return u.c.put(u.t.Context(), "org/app", at.String(), "application/octet-stream", u.data)
}

func TestUploadFaults(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{Alone: true})
	has := func(d digest.Digest) bool {
		t.Helper()
		repositories, err := s.Repositories("org")
		if err != nil || len(repositories) != 1 {
			t.Fatalf("%v, %v", repositories, err)
		}
		for _, b := range repositories[0].Blobs {
			if b == d {
				return true
			}
		}
		return false
	}
	for _, tc := range []struct {
		name          string
		action        Action
		fails, stored bool
		open          int // uploads, including those of earlier cases
	}{
		{"cut", CutUpload(70_000), true, false, 1},
		{"answer lost", LoseResponse(), true, true, 1},
		{"pretended", Pretend(), false, false, 1},
		{"restart", s.RestartAfter(70_000), true, false, 2},
		{"wrong digest", Header("Docker-Content-Digest", digest.FromString("other").String()), false, true, 2},
	} {
		u := newUpload(t, s, 300_000+len(tc.name))
		s.Script(Rule{Method: http.MethodPut, Path: "/blobs/uploads/", Action: tc.action})
		err := u.put()
		s.Script()
		if (err != nil) != tc.fails || has(u.digest()) != tc.stored {
			t.Errorf("%s: %v, stored %t", tc.name, err, has(u.digest()))
		}
		repositories, err := s.Repositories("org")
		if err != nil || repositories[0].Uploads != tc.open {
			t.Errorf("%s: %d uploads are open, want %d (%v)", tc.name, repositories[0].Uploads, tc.open, err)
		}
	}
}

func TestPretendedManifestAndMount(t *testing.T) {
	t.Parallel()
	s := New(t, Options{})
	img, err := Image("pretended")
	fail.On(t, err)
	s.Script(Rule{Method: http.MethodPut, Path: "/manifests/v1$", Action: Pretend()})
	if _, err := s.Client().Push(t.Context(), "org/app", "v1", img); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Client().Pull(t.Context(), "org/app", "v1"); err == nil {
		t.Error("the tag exists")
	}
	s.Script(Rule{Method: http.MethodPost, Action: Pretend()})
	h, err := img.ConfigName()
	fail.On(t, err)
	resp, err := s.Client().do(t.Context(), request{method: http.MethodPost, repository: "org/other", path: "blobs/uploads/?mount=" + h.String() + "&from=org/app"}, http.StatusCreated)
	fail.On(t, err)
	_ = resp.Body.Close()
	if got, want := resp.Header.Get("Location"), "/v2/org/other/blobs/"+h.String(); got != want {
		t.Errorf("location %s, want %s", got, want)
	}
	if err := s.Client().checkBlob(t.Context(), "org/other", digest.Digest(h.String())); err == nil {
		t.Error("the blob exists")
	}
}

func TestAnswerFaults(t *testing.T) {
	t.Parallel()
	s := New(t, Options{})
	img, err := Image("answers")
	fail.On(t, err)
	if _, err := s.Client().Push(t.Context(), "org/app", "v1", img); err != nil {
		t.Fatal(err)
	}
	s.Script(Rule{Action: Refuse(http.StatusBadRequest, "MANIFEST_BLOB_UNKNOWN")})
	if status, _, body, err := fetch(t.Context(), s); err != nil || status != http.StatusBadRequest || !strings.Contains(string(body), `"MANIFEST_BLOB_UNKNOWN"`) {
		t.Errorf("Refuse: %d %s %v", status, body, err)
	}
	s.Script(Rule{Action: Page()})
	if status, _, body, err := fetch(t.Context(), s); err != nil || status != http.StatusOK || !strings.HasPrefix(string(body), "<!DOCTYPE") {
		t.Errorf("Page: %d %s %v", status, body, err)
	}
	s.Script(Rule{Action: Header("Docker-Content-Digest", "sha256:0")})
	resp, err := s.Client().send(t.Context(), request{method: http.MethodGet, repository: "org/app", path: "manifests/v1"})
	if err != nil || resp.Header.Get("Docker-Content-Digest") != "sha256:0" {
		t.Errorf("Header: %v, %v", resp, err)
	}
	_ = resp.Body.Close()
	s.Script(Rule{Action: Endless()})
	if resp, err = s.Client().send(t.Context(), request{method: http.MethodGet, repository: "org/app", path: "manifests/v1"}); err != nil {
		t.Fatal(err)
	}
	if n, err := io.CopyN(io.Discard, resp.Body, 64<<20); err != nil {
		t.Errorf("Endless: %d bytes, %v", n, err)
	}
	_ = resp.Body.Close()
}

func TestDeny(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{Auth: TokenAuth})
	img, err := Image("denied")
	fail.On(t, err)
	c := s.Client()
	if _, err := c.Push(t.Context(), "org/app", "v1", img); err != nil {
		t.Fatal(err)
	}
	s.Script(Rule{Path: "/manifests/", Nth: 1, Action: Deny()})
	resp, err := c.send(t.Context(), request{method: http.MethodGet, repository: "org/app", path: "manifests/v1"})
	fail.On(t, err)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(resp.Header.Get("WWW-Authenticate"), "Bearer ") {
		t.Errorf("answered %d %q, want the challenge for anonymous clients", resp.StatusCode, resp.Header.Get("WWW-Authenticate"))
	}
}

func TestCDN(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{Auth: TokenAuth})
	img, err := Image("far away")
	fail.On(t, err)
	if _, err := s.Client().Push(t.Context(), "org/app", "v1", img); err != nil {
		t.Fatal(err)
	}
	cdn := s.CDN()
	s.Script(Rule{Method: http.MethodGet, Path: "/blobs/sha256:", Action: Redirect(cdn)})
	if _, err := s.Client().Pull(t.Context(), "org/app", "v1"); err != nil {
		t.Errorf("through the redirect: %v", err)
	}
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
			if _, err := s.Client().Push(t.Context(), "org/app", "v1", img); err != nil {
				t.Fatal(err)
			}
			s.Script(tc.rule)
			s.ResetLog()
			_, _, _, _ = fetch(t.Context(), s)
			s.front.Close() // the log is complete
			tc.want.Method, tc.want.Path = http.MethodGet, "/v2/org/app/manifests/v1"
			if diff := cmp.Diff([]Request{tc.want}, s.Log()); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}
