package mirror_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestOriginFiles checks that files are read where they are, and that changed ones are noticed.
func TestOriginFiles(t *testing.T) {
	_, o, _, _ := source(t)
	const text = "the content of a file"
	desc := ocispec.Descriptor{Digest: digest.FromString(text), Size: int64(len(text))}
	path := filepath.Join(t.TempDir(), "file")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }))
	t.Cleanup(server.Close)
	read := func(source string, offset int64) (string, error) {
		body, err := o.Blob(t.Context(), source, desc, offset)
		if err != nil {
			return "", err
		}
		got, err := io.ReadAll(body)
		return string(got), errors.Join(err, body.Close())
	}
	write := func(text string) {
		fail.On(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write(text)
	for _, source := range []string{"file+local:" + path, "file+" + server.URL + "/file"} {
		for _, offset := range []int64{0, 4} {
			if got, err := read(source, offset); err != nil || got != text[offset:] {
				t.Errorf("%s from %d: %q, %v", source, offset, got, err)
			}
		}
	}
	write(strings.ToUpper(text))
	if got, err := read("file+local:"+path, 0); err == nil || got == strings.ToUpper(text) || !strings.Contains(err.Error(), "the file was changed; make the plan again") {
		t.Errorf("a changed file: %q, %v", got, err)
	}
	write(text + ", longer")
	if _, err := read("file+local:"+path, 0); err == nil || !strings.Contains(err.Error(), "the file was changed; make the plan again") {
		t.Errorf("a longer file: %v", err)
	}
	if _, err := read("file+unknown:tool", 0); err == nil || !strings.Contains(err.Error(), "is not the source of a file") {
		t.Errorf("an unknown kind of source: %v", err)
	}
}

// TestOriginFileSize checks that a file whose size the server does not send is read once, into the cache.
func TestOriginFileSize(t *testing.T) {
	_, o, _, _ := source(t)
	const text = "the content of a file"
	gets := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		gets++
		_ = http.NewResponseController(w).Flush() // no length
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	d := digest.FromString(text)
	for range 2 {
		if size, err := o.FileSize(t.Context(), server.URL+"/file", d); err != nil || size != int64(len(text)) {
			t.Errorf("%d, %v", size, err)
		}
	}
	body, err := o.Blob(t.Context(), "file+"+server.URL+"/file", ocispec.Descriptor{Digest: d, Size: int64(len(text))}, 0)
	fail.On(t, err)
	got, err := io.ReadAll(body)
	server.Close() // waits for the requests
	if err := errors.Join(err, body.Close()); err != nil || string(got) != text || gets != 2 {
		t.Errorf("%q after %d requests, %v", got, gets, err)
	}
	wrong := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, "something else")
	}))
	t.Cleanup(wrong.Close)
	other := digest.FromString("expected")
	if _, err := o.FileSize(t.Context(), wrong.URL+"/file", other); err == nil || !strings.Contains(err.Error(), digest.FromString("something else").String()) || !strings.Contains(err.Error(), other.String()) {
		t.Errorf("wrong content: %v", err)
	}
	// Content that the cache has already stays when a server answers with it for another digest, and a
	// server that answers 0 to HEAD is read.
	zero := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.Header().Set("Content-Length", "0")
			return
		}
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(zero.Close)
	if _, err := o.FileSize(t.Context(), zero.URL+"/file", other); err == nil || !strings.Contains(err.Error(), d.String()) {
		t.Errorf("the content of another file: %v", err)
	}
	if size, err := o.FileSize(t.Context(), server.URL+"/file", d); err != nil || size != int64(len(text)) { // it is closed
		t.Errorf("content of the cache was deleted: %d, %v", size, err)
	}
	_, fresh, _, _ := source(t)
	if size, err := fresh.FileSize(t.Context(), zero.URL+"/file", d); err != nil || size != int64(len(text)) {
		t.Errorf("a server that answers 0 to HEAD: %d, %v", size, err)
	}
}
