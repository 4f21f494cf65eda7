package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// A breakingServer serves a file; until it is repaired, connections break after a part of it.
type breakingServer struct {
	text []byte
	part int

	mu       sync.Mutex
	repaired bool
	ranges   []string // of requests since
}

func (s *breakingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	repaired := s.repaired
	if repaired && r.Method == http.MethodGet {
		s.ranges = append(s.ranges, r.Header.Get("Range"))
	}
	s.mu.Unlock()
	w.Header().Set("ETag", `"one"`)
	if repaired || r.Method == http.MethodHead {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.text))
		return
	}
	if r.Header.Get("Range") == "" {
		w.Header().Set("Content-Length", fmt.Sprint(len(s.text)))
		_, _ = w.Write(s.text[:s.part])
		_ = http.NewResponseController(w).Flush()
	}
	panic(http.ErrAbortHandler) //nolint:forbidigo // net/http has no other means
}

// TestFileContinuesInAnotherRun breaks the download of a large file in one run, and continues it in the next, to a
// registry and to a disk.
func TestFileContinuesInAnotherRun(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	const size, part = 18 << 20, 17 << 20
	text := make([]byte, size)
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(text)
	for _, to := range []string{w.docker("/files"), "file://" + w.path("disk")} {
		s := &breakingServer{text: text, part: part}
		server := httptest.NewServer(s)
		t.Cleanup(server.Close)
		name := strings.NewReplacer(":", "", "/", "").Replace(to[:5])
		isc := w.write(name+".yaml", fmt.Sprintf("apiVersion: mirror.openshift.io/v2alpha1\nkind: ImageSetConfiguration\nmirror:\n  files: [{url: '%s/live.iso', sha256: %s}]\n",
			server.URL, digest.FromBytes(text).Encoded()))
		args := []string{"mirror", "-c", isc, to, "--workspace", w.path("workspace-" + name), "--retry-times", "1", "--retry-delay", "10ms"}
		w.says(w.looked(exitPartial, args...).stderr, "live.iso")
		s.mu.Lock()
		s.repaired = true
		s.mu.Unlock()
		w.looked(exitOK, args...)
		s.mu.Lock()
		if want := fmt.Sprintf("[bytes=%d-%d]", part, size-1); fmt.Sprint(s.ranges) != want {
			t.Errorf("%s: the second run requested %v, want %s", to, s.ranges, want)
		}
		s.mu.Unlock()
		kept, err := filepath.Glob(filepath.Join(w.path("workspace-"+name), "cache", "downloads", "*"))
		hidden, hiddenErr := filepath.Glob(filepath.Join(w.path("workspace-"+name), "cache", "downloads", ".*"))
		if err != nil || hiddenErr != nil || len(kept)+len(hidden) > 0 {
			t.Errorf("%s: still kept: %v", to, append(kept, hidden...))
		}
		out := w.path("out-" + name)
		pull := []string{"pull", to, "live.iso", "--to", out}
		if strings.HasPrefix(to, "docker") {
			pull = append(pull, "--src-plain-http")
		}
		w.looked(exitOK, pull...)
		if got, err := os.ReadFile(out); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %d bytes, %v", to, len(got), err)
		}
	}
}
