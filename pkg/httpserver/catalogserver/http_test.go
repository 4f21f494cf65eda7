package catalogserver_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/httpserver/catalogserver"
)

var modified = time.Date(2026, 2, 3, 4, 5, 6, 7, time.UTC)

func api(t *testing.T) http.Handler {
	t.Helper()
	h, err := catalogserver.HTTP(
		catalogserver.Catalog{Name: "my-catalog", Content: read(t, text), Modified: modified},
		catalogserver.Catalog{Name: "other.catalog", Content: read(t, "{\"schema\": \"x\",\n \"text\": \"a\\nb <&> \u2028\"}")},
	)
	fail.On(t, err)
	return h
}

// identities returns schema, package and name of each line of JSON.
func identities(t *testing.T, lines []byte) []string {
	t.Helper()
	var list []string
	for line := range bytes.Lines(lines) {
		var o struct{ Schema, Package, Name string }
		if err := json.Unmarshal(line, &o); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		list = append(list, strings.Join([]string{o.Schema, o.Package, o.Name}, " "))
	}
	return list
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	h := api(t)
	all := []string{
		"olm.package  bar", "olm.channel bar a", "olm.bundle bar bar.v1.0.0",
		"olm.package  foo", "olm.channel foo candidate", "olm.channel foo stable",
		"olm.bundle foo foo.v1.0.0", "olm.bundle foo foo.v1.1.0", "olm.bundle foo foo.v1.2.0",
		"com.example.lifecycle foo ", "olm.deprecations foo ", "com.example.lifecycle  ",
	}
	const at = "/catalogs/my-catalog/api/v1/"
	for _, tc := range []struct {
		path string
		want []string
		code int
	}{
		{at + "all", all, 200},
		{at + "metas", all, 200},
		{at + "metas?schema=olm.package", []string{"olm.package  bar", "olm.package  foo"}, 200},
		{at + "metas?schema=olm.package&name=foo", []string{"olm.package  foo"}, 200},
		{at + "metas?schema=olm.package&package=foo", nil, 200},
		{at + "metas?package=bar", []string{"olm.channel bar a", "olm.bundle bar bar.v1.0.0"}, 200},
		{at + "metas?package=foo&schema=olm.bundle&name=foo.v1.1.0", []string{"olm.bundle foo foo.v1.1.0"}, 200},
		{at + "metas?schema=com.example.lifecycle", []string{"com.example.lifecycle foo ", "com.example.lifecycle  "}, 200},
		{at + "metas?name=none", nil, 200},
		{at + "metas?names=foo", nil, 400},
		{at + "metas?name=%zz", nil, 400},
		{"/catalogs/no-catalog/api/v1/all", nil, 404},
		{"/catalogs/no-catalog/api/v1/metas", nil, 404},
		{at + "some", nil, 404},
		{"/", nil, 404},
	} {
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, tc.path, nil))
		if answer.Code != tc.code {
			t.Errorf("%s: got %d, want %d", tc.path, answer.Code, tc.code)
		}
		if tc.code != 200 {
			continue
		}
		fail.Diff(t, tc.want, identities(t, answer.Body.Bytes()))
		head := httptest.NewRecorder()
		h.ServeHTTP(head, httptest.NewRequestWithContext(t.Context(), http.MethodHead, tc.path, nil))
		if head.Code != 200 || head.Body.Len() != 0 {
			t.Errorf("HEAD %s: got %d, %d bytes", tc.path, head.Code, head.Body.Len())
		}
		for _, got := range []*httptest.ResponseRecorder{answer, head} {
			if typ, since := got.Header().Get("Content-Type"), got.Header().Get("Last-Modified"); typ != "application/jsonl" || since != "Tue, 03 Feb 2026 04:05:06 GMT" {
				t.Errorf("%s: got %s, %s", tc.path, typ, since)
			}
		}
	}
}

func TestHTTPRequests(t *testing.T) {
	t.Parallel()
	h := api(t)
	whole := httptest.NewRecorder()
	const all = "/catalogs/my-catalog/api/v1/all"
	h.ServeHTTP(whole, httptest.NewRequestWithContext(t.Context(), http.MethodGet, all, nil))
	for _, tc := range []struct {
		name, method string
		headers      map[string]string
		code         int
		want         string
	}{
		{"not modified", "GET", map[string]string{"If-Modified-Since": "Tue, 03 Feb 2026 04:05:06 GMT"}, 304, ""},
		{"not modified, HEAD", "HEAD", map[string]string{"If-Modified-Since": "Tue, 03 Feb 2026 04:05:06 GMT"}, 304, ""},
		{"modified", "GET", map[string]string{"If-Modified-Since": "Tue, 03 Feb 2026 04:05:05 GMT"}, 200, whole.Body.String()},
		{"modified in the meantime", "GET", map[string]string{"If-Unmodified-Since": "Tue, 03 Feb 2026 04:05:05 GMT"}, 412, ""},
		{"a range", "GET", map[string]string{"Range": "bytes=100-1000"}, 206, whole.Body.String()[100:1001]},
		{"the end", "GET", map[string]string{"Range": "bytes=-7"}, 206, whole.Body.String()[whole.Body.Len()-7:]},
		{"beyond the end", "GET", map[string]string{"Range": "bytes=1000000-"}, 416, "invalid range: failed to overlap\n"},
		{"another method", "POST", nil, 405, "catalogs are read-only\n"},
	} {
		request := httptest.NewRequestWithContext(t.Context(), tc.method, all, nil)
		for name, value := range tc.headers {
			request.Header.Set(name, value)
		}
		got := httptest.NewRecorder()
		h.ServeHTTP(got, request)
		if got.Code != tc.code || got.Body.String() != tc.want {
			t.Errorf("%s: got %d, %d bytes, want %d, %d bytes", tc.name, got.Code, got.Body.Len(), tc.code, len(tc.want))
		}
	}
	fail.Diff(t, "", whole.Header().Get("Content-Encoding"))
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, all, nil)
	request.Header.Set("Accept-Encoding", "gzip")
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, request)
	unzip, err := gzip.NewReader(answer.Body)
	fail.On(t, err)
	if got, err := io.ReadAll(unzip); err != nil || !bytes.Equal(got, whole.Body.Bytes()) {
		t.Errorf("compressed: got %d bytes, %v", len(got), err)
	}
}

// TestLineOfJSON checks that a line is the object's own text without white space between its
// tokens.
func TestLineOfJSON(t *testing.T) {
	t.Parallel()
	answer := httptest.NewRecorder()
	api(t).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/catalogs/other.catalog/api/v1/all", nil))
	fail.Diff(t, "{\"schema\":\"x\",\"text\":\"a\\nb <&> \u2028\"}\n", answer.Body.String())
	fail.Diff(t, "", answer.Header().Get("Last-Modified"))
}

func TestHTTPNames(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{{""}, {"A"}, {"a/b"}, {"-a"}, {"a..b"}, {strings.Repeat("a", 254)}, {"a", "a"}} {
		var list []catalogserver.Catalog
		for _, name := range names {
			list = append(list, catalogserver.Catalog{Name: name, Content: read(t, text)})
		}
		if _, err := catalogserver.HTTP(list...); err == nil {
			t.Errorf("%q are accepted", names)
		}
	}
}

// TestLineReader checks that the reader of lines meets the contract of io.Reader and io.Seeker.
func TestLineReader(t *testing.T) {
	t.Parallel()
	answer := httptest.NewRecorder()
	api(t).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/catalogs/my-catalog/api/v1/all", nil))
	for _, c := range []string{text, "schema: x"} {
		r, err := catalogserver.NewLineReader(read(t, c))
		fail.On(t, err)
		want := answer.Body.Bytes()
		if c != text {
			want = []byte("{\"schema\":\"x\"}\n")
		}
		fail.On(t, iotest.TestReader(r, want))
	}
}

// TestEither checks that one address serves both APIs and that each request reaches the right one.
func TestEither(t *testing.T) {
	t.Parallel()
	registry, err := catalogserver.Registry(read(t, text))
	fail.On(t, err)
	address := serve(t, catalogserver.Either(registry, api(t)))
	for _, tc := range []struct {
		name, method, path, contentType, want string
		http2                                 bool
	}{
		{"HTTP/1.1", "GET", "/catalogs/my-catalog/api/v1/all", "", "HTTP/1.1 200 OK application/jsonl", false},
		{"HTTP/2", "GET", "/catalogs/my-catalog/api/v1/all", "", "HTTP/2.0 200 OK application/jsonl", true},
		{"gRPC", "POST", "/api.Registry/ListPackages", "application/grpc", "HTTP/2.0 200 OK application/grpc", true},
		{"gRPC by HTTP/1.1", "POST", "/api.Registry/ListPackages", "application/grpc", "HTTP/1.1 505 HTTP Version Not Supported text/plain; charset=utf-8", false},
	} {
		transport := &http.Transport{Protocols: new(http.Protocols)}
		transport.Protocols.SetHTTP1(!tc.http2)
		transport.Protocols.SetUnencryptedHTTP2(tc.http2)
		request, err := http.NewRequestWithContext(t.Context(), tc.method, "http://"+address+tc.path, strings.NewReader("\x00\x00\x00\x00\x00"))
		fail.On(t, err)
		request.Header.Set("Content-Type", tc.contentType)
		answer, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if got := answer.Proto + " " + answer.Status + " " + answer.Header.Get("Content-Type"); got != tc.want && got != strings.Replace(tc.want, " OK", "", 1) {
			t.Errorf("%s: got %s, want %s", tc.name, got, tc.want)
		}
		answer.Body.Close()
		transport.CloseIdleConnections()
	}
}
