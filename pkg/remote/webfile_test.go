package remote_test

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// A webServer serves a file, and records the requests for it: the method and the range.
type webServer struct {
	text     string
	unsized  bool // it sends no length
	noHead   bool // it refuses HEAD
	cut      int  // how many bodies break off in the middle
	mu       sync.Mutex
	requests []string
}

// seen returns the requests.
func (s *webServer) seen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.requests, ", ")
}

func (s *webServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, strings.TrimSpace(r.Method+" "+r.Header.Get("Range")))
	cut := s.cut > 0 && r.Method == http.MethodGet
	if cut {
		s.cut--
	}
	s.mu.Unlock()
	switch {
	case r.URL.Path != "/pub/file":
		w.WriteHeader(http.StatusNotFound)
	case s.noHead && r.Method == http.MethodHead:
		w.WriteHeader(http.StatusForbidden)
	case s.unsized:
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, s.text)
	case cut:
		w.Header().Set("Content-Length", "10")
		_, _ = io.WriteString(w, s.text[:5])
	default:
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(s.text))
	}
}

func webClient(t *testing.T, s *webServer) (*remote.Client, string) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return newClient(t, remote.Options{Clock: newClock()}), server.URL + "/pub/file"
}

func TestWebFile(t *testing.T) {
	const text = "0123456789"
	desc := ocispec.Descriptor{Digest: digest.FromString(text), Size: 10}
	other := ocispec.Descriptor{Digest: digest.FromString("9876543210"), Size: 10}
	for _, tc := range []struct {
		name     string
		server   *webServer
		desc     ocispec.Descriptor
		offset   int64
		requests string
		wrong    string
	}{
		{name: "all", server: &webServer{}, desc: desc, requests: "GET"},
		{name: "without a length", server: &webServer{unsized: true}, desc: desc, requests: "GET"},
		{name: "from the middle", server: &webServer{}, desc: desc, offset: 4, requests: "GET bytes=4-9"},
		{name: "from the end", server: &webServer{}, desc: desc, offset: 10},
		{name: "broken off", server: &webServer{cut: 1}, desc: desc, requests: "GET, GET bytes=5-9"},
		{name: "wrong checksum", server: &webServer{}, desc: other, requests: "GET", wrong: "its content has the digest " + desc.Digest.String() + ", and " + other.Digest.String() + " was expected"},
		{name: "wrong size", server: &webServer{}, desc: ocispec.Descriptor{Digest: desc.Digest, Size: 9}, requests: "GET", wrong: "the server has 10 bytes of it and 9 were expected"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := tc.server
			s.text = text
			c, address := webClient(t, s)
			var got []byte
			body, err := c.WebFile(t.Context(), address, tc.desc, tc.offset)
			if err == nil {
				got, err = io.ReadAll(body)
				err = errors.Join(err, body.Close())
			}
			switch {
			case tc.wrong != "":
				if !errors.Is(err, remote.ErrMismatch) || !strings.Contains(err.Error(), tc.wrong) || string(got) == text {
					t.Errorf("%q, %v", got, err)
				}
			case err != nil || string(got) != text[tc.offset:]:
				t.Errorf("%q, %v", got, err)
			}
			fail.Diff(t, tc.requests, s.seen())
		})
	}
}

// TestContinueWebFile continues a file that an earlier run read in part.
func TestContinueWebFile(t *testing.T) {
	const text = "0123456789"
	desc := ocispec.Descriptor{Digest: digest.FromString(text), Size: 10}
	const changed = "Wed, 21 Oct 2015 07:28:00 GMT"
	for _, tc := range []struct {
		name, tag, modified  string
		validator            string // of the first response
		next                 string // the tag of the server then
		ranges, isOther, cut bool
	}{
		{name: "the same version", tag: `"a"`, validator: `"a"`, next: `"a"`, ranges: true},
		{name: "another version", tag: `"a"`, validator: `"a"`, next: `"b"`, ranges: true, isOther: true},
		{name: "no ranges", tag: `"a"`, validator: `"a"`, next: `"a"`, isOther: true},
		{name: "the time of the last change", modified: changed, validator: changed, ranges: true},
		{name: "a weak tag", tag: `W/"a"`, modified: changed, validator: changed, next: `W/"a"`, ranges: true},
		{name: "none", ranges: true},
		{name: "neither that nor ranges"},
		{name: "too long", tag: `"` + strings.Repeat("a", 1<<10) + `"`, ranges: true},
		{name: "broken off again", tag: `"a"`, validator: `"a"`, next: `"a"`, ranges: true, cut: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tag, cut := tc.tag, false
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if w.Header().Set("Last-Modified", tc.modified); tc.modified == "" {
					w.Header().Del("Last-Modified")
				}
				if tag != "" {
					w.Header().Set("ETag", tag)
				}
				if !tc.ranges {
					r.Header.Del("Range")
				}
				if cut {
					cut = false
					w.Header().Set("Content-Range", "bytes 4-9/10")
					w.Header().Set("Content-Length", "6")
					w.WriteHeader(http.StatusPartialContent)
					_, _ = io.WriteString(w, text[4:6])
					return
				}
				modified, _ := http.ParseTime(tc.modified)
				http.ServeContent(w, r, "", modified, strings.NewReader(text))
			})
			c := newClient(t, remote.Options{Clock: newClock()})
			body, err := c.WebFile(t.Context(), server.URL, desc, 0)
			fail.On(t, err)
			validator := body.(interface{ Validator() string }).Validator()
			if err := body.Close(); err != nil || validator != tc.validator {
				t.Errorf("validator %q, %v; want %q", validator, err, tc.validator)
			}
			tag, cut = tc.next, tc.cut
			body, err = c.ContinueWebFile(t.Context(), server.URL, desc, 4, validator)
			if tc.isOther {
				if !errors.Is(err, remote.ErrChanged) {
					t.Errorf("error %v", err)
				}
				return
			}
			fail.On(t, err)
			got, err := io.ReadAll(body)
			if err := errors.Join(err, body.Close()); err != nil || string(got) != text[4:] {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestWebSize(t *testing.T) {
	for _, tc := range []struct {
		name     string
		server   *webServer
		size     int64
		requests string
	}{
		{"HEAD", &webServer{}, 10, "HEAD"},
		{"GET", &webServer{noHead: true}, 10, "HEAD, GET"},
		{"unknown", &webServer{unsized: true, noHead: true}, -1, "HEAD, GET"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := tc.server
			s.text = "0123456789"
			c, address := webClient(t, s)
			if size, err := c.WebSize(t.Context(), address); err != nil || size != tc.size || s.seen() != tc.requests {
				t.Errorf("%d, %v after %v", size, err, s.seen())
			}
			body, err := c.WebBody(t.Context(), address)
			fail.On(t, err)
			got, err := io.ReadAll(body)
			if err := errors.Join(err, body.Close()); err != nil || string(got) != s.text {
				t.Errorf("%q, %v", got, err)
			}
			if _, err := c.WebSize(t.Context(), address+"s"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a file that does not exist: %v", err)
			}
		})
	}
}
