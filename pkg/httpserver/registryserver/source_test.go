package registryserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/httpserver/registryserver"
	"github.com/gantry-mirror/gantry/pkg/image"
)

// A memorySource is a source with its content in memory.
type memorySource struct {
	text  map[digest.Digest][]byte
	types map[digest.Digest]string

	mu     sync.Mutex
	wrong  map[digest.Digest]bool // content that ends with a read error
	absent map[digest.Digest]bool // content that cannot be opened
	opened []string               // "DIGEST@OFFSET" for blobs, DIGEST for manifests
}

func newMemorySource() *memorySource {
	return &memorySource{
		text: map[digest.Digest][]byte{}, types: map[digest.Digest]string{},
		wrong: map[digest.Digest]bool{}, absent: map[digest.Digest]bool{},
	}
}

var errDamaged = errors.New("volume 3 is damaged")

func (s *memorySource) look(d digest.Digest, as string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = append(s.opened, as)
	if s.absent[d] || s.text[d] == nil {
		return nil, false, fmt.Errorf("opening %s: %w", d, fs.ErrNotExist)
	}
	return s.text[d], s.wrong[d], nil
}

func (s *memorySource) Manifest(_ context.Context, _ string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	raw, wrong, err := s.look(d, d.String())
	if wrong {
		err = errDamaged
	}
	return ocispec.Descriptor{MediaType: s.types[d], Digest: d, Size: int64(len(raw))}, raw, err
}

func (s *memorySource) Blob(_ context.Context, _ string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	raw, wrong, err := s.look(desc.Digest, fmt.Sprintf("%s@%d", desc.Digest, offset))
	if err != nil {
		return nil, err
	}
	var body io.Reader = bytes.NewReader(raw[offset:])
	if wrong && offset == 0 {
		body = io.MultiReader(body, failing{})
	}
	return io.NopCloser(body), nil
}

// failing is a reader that returns an error instead of io.EOF.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errDamaged }

// reads returns what was opened since the last call.
func (s *memorySource) reads() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.opened
	s.opened = nil
	return all
}

func (s *memorySource) blob(raw []byte) ocispec.Descriptor {
	d := digest.FromBytes(raw)
	s.text[d] = raw
	return ocispec.Descriptor{MediaType: "application/vnd.oci.image.layer.v1.tar", Digest: d, Size: int64(len(raw))}
}

func (s *memorySource) manifest(t testing.TB, mediaType string, m any) ocispec.Descriptor {
	t.Helper()
	raw, err := json.Marshal(m)
	fail.On(t, err)
	desc := s.blob(raw)
	desc.MediaType, s.types[desc.Digest] = mediaType, mediaType
	return desc
}

// image returns an image with layers. more changes its manifest.
func (s *memorySource) image(t testing.TB, more func(*ocispec.Manifest), layers ...string) registryserver.Image {
	t.Helper()
	m := ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, Layers: []ocispec.Descriptor{}}
	var ids []digest.Digest
	for _, text := range layers {
		m.Layers = append(m.Layers, s.blob([]byte(text)))
		ids = append(ids, digest.FromString(text))
	}
	config, err := json.Marshal(ocispec.Image{Platform: ocispec.Platform{OS: "linux", Architecture: "amd64"}, RootFS: ocispec.RootFS{Type: "layers", DiffIDs: ids}})
	fail.On(t, err)
	m.Config = s.blob(config)
	m.Config.MediaType = ocispec.MediaTypeImageConfig
	if more != nil {
		more(&m)
	}
	return registryserver.Image{
		Manifests: []ocispec.Descriptor{s.manifest(t, m.MediaType, m)}, Blobs: append([]ocispec.Descriptor{m.Config}, m.Layers...),
	}
}

// index returns an index of images.
func (s *memorySource) index(t testing.TB, mediaType string, images ...registryserver.Image) registryserver.Image {
	t.Helper()
	x := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: mediaType}
	img := registryserver.Image{Manifests: make([]ocispec.Descriptor, 1)}
	for _, child := range images {
		x.Manifests = append(x.Manifests, child.Manifests[0])
		img.Manifests = append(img.Manifests, child.Manifests...)
		img.Blobs = append(img.Blobs, child.Blobs...)
	}
	img.Manifests[0] = s.manifest(t, mediaType, x)
	return img
}

func at(repository string, img registryserver.Image, tags ...string) registryserver.Image {
	img.Repository, img.Tags = repository, tags
	return img
}

// A site is a running registry.
type site struct {
	*memorySource
	url string
	log *logged
}

func serve(t testing.TB, s *memorySource, images ...registryserver.Image) *site {
	t.Helper()
	return serveFrom(t, s, s, images...)
}

// serveFrom serves images with the content of source, which reads from s.
func serveFrom(t testing.TB, source image.Reader, s *memorySource, images ...registryserver.Image) *site {
	t.Helper()
	log := &logged{}
	r, err := registryserver.New(source, slog.New(slog.NewTextHandler(log, nil)), slices.Values(images))
	fail.On(t, err)
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return &site{s, server.URL, log}
}

// logged is a log that can be read while it is written.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// An answer is a response and its body.
type answer struct {
	*http.Response
	body string
	err  error // error of reading the body
}

// ask sends a request. header has names and values in turn.
func (s *site) ask(t testing.TB, method, path string, header ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, http.NoBody)
	fail.On(t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	fail.On(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{resp, string(body), err}
}

// want compares the status and the headers (names and values in turn; "" for a header that must be
// absent) and, if code is not "", the error code in the body.
func (a answer) want(t testing.TB, status int, code string, header ...string) answer {
	t.Helper()
	if a.StatusCode != status {
		t.Errorf("%s %s: %s, want %d\n%s", a.Request.Method, a.Request.URL, a.Status, status, a.body)
	}
	for i := 0; i < len(header); i += 2 {
		if got := a.Header.Get(header[i]); got != header[i+1] {
			t.Errorf("%s %s: %s is %q, want %q", a.Request.Method, a.Request.URL, header[i], got, header[i+1])
		}
	}
	if code == "" {
		return a
	}
	if got := a.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("%s %s: an error of the type %q", a.Request.Method, a.Request.URL, got)
	}
	if a.Request.Method == http.MethodHead {
		return a
	}
	var body struct {
		Errors []struct{ Code, Message string }
	}
	if err := json.Unmarshal([]byte(a.body), &body); err != nil || len(body.Errors) != 1 || body.Errors[0].Code != code || body.Errors[0].Message == "" {
		t.Errorf("%s %s: the error is %s (%v), want the code %s and a message", a.Request.Method, a.Request.URL, a.body, err, code)
	}
	return a
}

// newRequest returns a request as a server receives it, even if it is invalid.
func newRequest(t testing.TB, method, path, query string) *http.Request {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	req.Method, req.URL = method, &url.URL{Path: path, RawQuery: query}
	return req
}

// record returns the response of a handler, without a connection.
func record(t testing.TB, handler http.Handler, req *http.Request) answer {
	t.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, req)
	resp := w.Result()
	resp.Request = req
	return answer{resp, w.Body.String(), resp.Body.Close()}
}

// code returns the error code in the body. A response to HEAD has none.
func (a answer) code(t testing.TB) string {
	t.Helper()
	var body struct{ Errors []struct{ Code string } }
	if err := json.Unmarshal([]byte(a.body), &body); err != nil || len(body.Errors) != 1 || body.Errors[0].Code == "" {
		t.Errorf("%s %s: the error is %q", a.Request.Method, a.Request.URL, a.body)
		return ""
	}
	return body.Errors[0].Code
}
