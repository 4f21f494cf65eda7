package mirror_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// A fileServer serves a file, and records the ranges that were requested.
type fileServer struct {
	mu       sync.Mutex
	text     string
	tag      string // ETag
	noRanges bool
	ranges   []string
}

func (s *fileServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ranges = append(s.ranges, strings.TrimSpace(r.Header.Get("Range")+" "+r.Header.Get("If-Range")))
	if s.tag != "" {
		w.Header().Set("ETag", s.tag)
	}
	if s.noRanges {
		_, _ = io.WriteString(w, s.text)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(s.text))
}

// requested returns the ranges, and forgets them.
func (s *fileServer) requested() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.ranges = nil }()
	return s.ranges
}

// TestDownloadsContinue reads a part of a file, and the whole of it in another run.
func TestDownloadsContinue(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789abcdef", 64<<10) // 1 MiB, which does not arrive at once
	const half, size = 512 << 10, 1 << 20
	desc := ocispec.Descriptor{Digest: digest.FromString(text), Size: size}
	for _, tc := range []struct {
		name      string
		tag       string
		step      int64
		reserve   int64
		noRanges  bool
		between   func(t *testing.T, s *fileServer, dir string)
		killed    bool // the first run does not close the file
		from      int64
		want      []string
		mismatch  bool // of the second run; the third one succeeds
		continues bool // the second run requests a range
	}{
		{name: "the same version", tag: `"one"`, step: size, continues: true},
		{name: "without a validator", step: size, continues: true},
		{name: "killed", tag: `"one"`, step: 64 << 10, killed: true, continues: true},
		{name: "killed before the first step", tag: `"one"`, step: size, killed: true},
		{name: "from an offset", tag: `"one"`, step: size, from: half / 2, continues: true},
		{name: "the version is another one", tag: `"one"`, step: size, between: func(_ *testing.T, s *fileServer, _ string) { s.tag = `"two"` }},
		{name: "a server without ranges", tag: `"one"`, step: size, noRanges: true},
		{name: "a weak validator", tag: `W/"one"`, step: size, continues: true},
		{name: "no room", tag: `"one"`, step: size, reserve: math.MaxInt64 / 2},
		{name: "what is kept was damaged", tag: `"one"`, step: size, between: func(t *testing.T, _ *fileServer, dir string) {
			t.Helper()
			edit(t, dir, ".partial", func(text []byte) []byte { text[100] ^= 1; return text })
		}},
		{name: "what is kept was cut off", tag: `"one"`, step: size, between: func(t *testing.T, _ *fileServer, dir string) {
			t.Helper()
			edit(t, dir, ".partial", func(text []byte) []byte { return text[:100] })
		}},
		{name: "no state", tag: `"one"`, step: size, between: func(t *testing.T, _ *fileServer, dir string) {
			t.Helper()
			edit(t, dir, ".json", func([]byte) []byte { return []byte("{") })
		}},
		{name: "other content without a validator", step: size, mismatch: true, continues: true, between: func(_ *testing.T, s *fileServer, _ string) {
			s.text = strings.ToUpper(s.text)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := &fileServer{text: text, tag: tc.tag, noRanges: tc.noRanges}
			server := httptest.NewServer(s)
			t.Cleanup(server.Close)
			dir := filepath.Join(t.TempDir(), "downloads")
			open := func(offset int64) (io.ReadCloser, *mirror.Origin) {
				t.Helper()
				_, o, _, _ := source(t)
				o.KeepAllDownloads(dir, tc.step, tc.reserve)
				body, err := o.Blob(context.WithoutCancel(t.Context()), "file+"+server.URL+"/file", desc, offset)
				fail.On(t, err)
				return body, o
			}
			body, _ := open(0)
			_, err := io.ReadFull(body, make([]byte, half))
			fail.On(t, err)
			if tc.killed { // a lock ends with its process: the run is copied as if it were killed
				dir = copied(t, dir)
				t.Cleanup(func() { _ = body.Close() })
			} else if err := body.Close(); err != nil {
				t.Fatal(err)
			}
			s.requested()
			if tc.between != nil {
				s.mu.Lock()
				tc.between(t, s, dir)
				s.mu.Unlock()
			}
			body, o := open(tc.from)
			got, err := io.ReadAll(body)
			closed := body.Close()
			ranges := s.requested()
			if tc.mismatch {
				if !errors.Is(err, remote.ErrMismatch) || !strings.Contains(err.Error(), "were from an earlier run and were removed: run again") {
					t.Errorf("error %v", err)
				}
				s.mu.Lock()
				s.text = text
				s.mu.Unlock()
				body, o = open(0)
				got, err = io.ReadAll(body)
				closed = body.Close()
				fail.Diff(t, []string{""}, s.requested())
			}
			if err := errors.Join(err, closed); err != nil || string(got) != text[tc.from:] {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if last := ranges[len(ranges)-1]; strings.HasPrefix(last, "bytes=") != tc.continues {
				t.Errorf("requested %q", ranges)
			} else if strong := strings.HasPrefix(tc.tag, `"`); tc.continues && strong != strings.HasSuffix(last, ` "one"`) {
				t.Errorf("requested %q, with the validator %s", last, tc.tag)
			}
			if tc.reserve == 0 && len(entries(t, dir)) == 0 {
				t.Error("nothing is kept before the destination has the file")
			}
			o.Stored(desc.Digest)
			if left := entries(t, dir); len(left) > 0 {
				t.Errorf("kept: %v", left)
			}
		})
	}
}

// TestDownloadsStored reads a file again that has arrived, as if the destination had failed at the end, and expires it.
func TestDownloadsStored(t *testing.T) {
	t.Parallel()
	const text = "the content of a file"
	desc := ocispec.Descriptor{Digest: digest.FromString(text), Size: int64(len(text))}
	s := &fileServer{text: text}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	_, o, _, _ := source(t)
	dir := t.TempDir()
	o.KeepAllDownloads(dir, 1, 0)
	for range 2 {
		body, err := o.Blob(t.Context(), "file+"+server.URL+"/file", desc, 0)
		fail.On(t, err)
		got, err := io.ReadAll(body)
		if err := errors.Join(err, body.Close()); err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
	}
	fail.Diff(t, []string{""}, s.requested())
	kept := mirror.Downloads{Dir: dir}
	if err := kept.Expire(time.Now().Add(-time.Hour)); err != nil || len(entries(t, dir)) != 2 {
		t.Errorf("%v, %v", entries(t, dir), err)
	}
	if err := kept.Expire(time.Now().Add(time.Hour)); err != nil || len(entries(t, dir)) != 0 {
		t.Errorf("%v, %v", entries(t, dir), err)
	}
	fail.On(t, (mirror.Downloads{Dir: filepath.Join(dir, "none")}).Expire(time.Now()))
}

// TestDownloadsShared reads a file twice at the same time: only one reading keeps it.
func TestDownloadsShared(t *testing.T) {
	t.Parallel()
	const text = "the content of a file"
	desc := ocispec.Descriptor{Digest: digest.FromString(text), Size: int64(len(text))}
	server := httptest.NewServer(&fileServer{text: text})
	t.Cleanup(server.Close)
	_, o, _, _ := source(t)
	o.KeepAllDownloads(t.TempDir(), 1, 0)
	var bodies []io.ReadCloser
	for range 2 {
		body, err := o.Blob(t.Context(), "file+"+server.URL+"/file", desc, 0)
		fail.On(t, err)
		bodies = append(bodies, body)
	}
	for _, body := range bodies {
		got, err := io.ReadAll(body)
		if err := errors.Join(err, body.Close()); err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// entries returns the names of the files in a folder.
func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	fail.On(t, err)
	return elements.Map(all, func(e os.DirEntry) string { return e.Name() })
}

// edit changes the file of a folder whose name has an ending.
func edit(t *testing.T, dir, ending string, change func([]byte) []byte) {
	t.Helper()
	names := slices.DeleteFunc(entries(t, dir), func(name string) bool { return !strings.HasSuffix(name, ending) })
	if len(names) != 1 {
		t.Fatalf("%d files end in %s", len(names), ending)
	}
	text, err := os.ReadFile(filepath.Join(dir, names[0]))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, names[0]), change(bytes.Clone(text)), 0o600)
	}
	fail.On(t, err)
}

// copied returns a copy of a folder.
func copied(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	fail.On(t, os.CopyFS(to, os.DirFS(dir)))
	return to
}
