package pull_test

import (
	"bytes"
	"errors"
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

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/pull"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// pulls writes a file of a destination to a file of the folder, and returns its content.
func pulls(s *mirrortest.Site, from, name, to string, force bool) (*pull.PulledFile, string, error) {
	f, err := pull.File(s.T.Context(), pull.Options{Env: s.NewEnv(), From: from, Name: name, To: s.Path(to), Force: force})
	text, readErr := os.ReadFile(s.Path(to))
	if err == nil {
		err = readErr
	}
	return f, string(text), err
}

// TestFiles lists and writes files of a mirror, an archive and a layout.
func TestFiles(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	text := strings.Repeat("0123456789abcdef", 40_000)
	live, notes := s.Write("live.iso", text), s.Write("notes.txt", "first")
	isc := s.Config("files.yaml", "  files: [{path: '"+live+"'}, {path: '"+notes+"', target: docs/notes.txt}]\n")
	to := map[string]string{"mirror": s.Docker("files"), "archive": s.Archive("disk"), "layout": env.LayoutScheme + s.Path("oci")}
	for kind, where := range to {
		s.Mirrored(isc, where, func(o *mirroring.Options) {
			o.Workspace = s.Path("ws-" + kind)
			if kind == "archive" {
				o.VolumeSize = 300_000 // the file is in parts
			}
		})
		list, err := pull.ListFiles(t.Context(), pull.Options{Env: s.NewEnv(), From: where})
		if err != nil || len(list.Files) != 2 {
			t.Fatalf("%s: %+v, %v", kind, list, err)
		}
		for _, f := range list.Files {
			if want := map[string]int64{"live.iso": int64(len(text)), "docs/notes.txt": 5}[f.Name]; f.Size != want || f.Older {
				t.Errorf("%s: %+v, want %d bytes", kind, f, want)
			}
		}
		if f, got, err := pulls(s, where, "live.iso", kind, false); err != nil || got != text || f.Present || f.SHA256 != digest.FromString(text) {
			t.Errorf("%s: %d bytes, %+v, %v", kind, len(got), f, err)
		}
		if f, _, err := pulls(s, where, "live.iso@sha256:"+digest.FromString(text).Encoded()[:8], kind, false); err != nil || !f.Present {
			t.Errorf("%s: %+v, %v", kind, f, err)
		}
		_, got, err := pulls(s, where, "docs/notes.txt", kind, false)
		mirrortest.Refused(t, err, advice.Input, "exists", "Force")
		if got != text {
			t.Errorf("%s: the file was replaced", kind)
		}
		if _, got, err := pulls(s, where, "docs/notes.txt", kind, true); err != nil || got != "first" {
			t.Errorf("%s: %q, %v", kind, got, err)
		}
		var out bytes.Buffer
		if f, err := pull.File(t.Context(), pull.Options{Env: s.NewEnv(), From: where, Name: "docs/notes.txt", Output: &out}); err != nil || out.String() != "first" || f.To != "" {
			t.Errorf("%s: %q, %v", kind, &out, err)
		}
		for name, words := range map[string]string{"life.iso": `"live.iso"`, "../x": "", "live.iso@sha256:xyz": "write NAME@sha256:DIGITS", "live.iso@sha256:0000": "there is no file", "": "leave it out to list the names", "oc.tar.gz": "docs/notes.txt"} {
			_, _, err := pulls(s, where, name, "none", false)
			mirrortest.Refused(t, err, advice.Input, words)
		}
	}

	// A newer file of the name: the earlier one is listed as older, and found by its digest.
	s.Write("notes.txt", "second")
	s.Mirrored(isc, to["mirror"], func(o *mirroring.Options) { o.Env, o.Workspace = s.NewEnv(), s.Path("ws-mirror") })
	if _, got, err := pulls(s, to["mirror"], "docs/notes.txt", "second", false); err != nil || got != "second" {
		t.Errorf("%q, %v", got, err)
	}
	if _, got, err := pulls(s, to["mirror"], "docs/notes.txt@"+digest.FromString("first").String(), "first", false); err != nil || got != "first" {
		t.Errorf("%q, %v", got, err)
	}
	_, _, err := pulls(s, s.Docker("empty"), "live.iso", "none", false)
	if err == nil || !strings.Contains(err.Error(), "there is no file live.iso") {
		t.Error(err)
	}
	if _, err := os.Stat(s.Path("none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was written: %v", err)
	}
}

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

// TestFileContinuesInAnotherRun breaks the download of a large file in one run, and continues it in the next, to a registry
// and to a disk.
func TestFileContinuesInAnotherRun(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := mirrortest.New(t, registrytest.Options{})
	const size, part = 18 << 20, 17 << 20
	text := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(text)
	for kind, to := range map[string]string{"mirror": s.Docker("files"), "archive": s.Archive("disk")} {
		breaks := &breakingServer{text: text, part: part}
		server := httptest.NewServer(breaks)
		t.Cleanup(server.Close)
		isc := s.Config(kind+".yaml", fmt.Sprintf("  files: [{url: '%s/live.iso', sha256: %s}]\n", server.URL, digest.FromBytes(text).Encoded()))
		o := s.MirrorOptions(isc, to)
		o.Env, o.Workspace = s.NewEnv(), s.Path("ws-"+kind)
		o.Env.RetryTimes, o.Env.RetryDelay = 1, 10*time.Millisecond
		_, err := mirroring.Run(t.Context(), o)
		mirrortest.Refused(t, err, advice.Partial, "1 file is not mirrored")
		breaks.mu.Lock()
		breaks.repaired = true
		breaks.mu.Unlock()
		_, err = mirroring.Run(t.Context(), o)
		fail.On(t, err)
		breaks.mu.Lock()
		if want := fmt.Sprintf("[bytes=%d-%d]", part, size-1); fmt.Sprint(breaks.ranges) != want {
			t.Errorf("%s: the second run requested %v, want %s", kind, breaks.ranges, want)
		}
		breaks.mu.Unlock()
		if kept, err := os.ReadDir(filepath.Join(o.Workspace, "cache", "downloads")); err == nil && len(kept) > 0 {
			t.Errorf("%s: still kept: %v", kind, kept)
		}
		if _, got, err := pulls(s, to, "live.iso", kind, false); err != nil || got != string(text) {
			t.Errorf("%s: %d bytes, %v", kind, len(got), err)
		}
	}
}
