package layout

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/file/lockfile"
)

func describe(text string) ocispec.Descriptor {
	return ocispec.Descriptor{Digest: digest.FromString(text), Size: int64(len(text))}
}

func newLayout(t *testing.T) (*Layout, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "layout")
	l, err := Create(dir, Options{})
	fail.On(t, err)
	return l, dir
}

// files returns the paths in a folder. Folders have a slash at the end.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	})
	fail.On(t, err)
	slices.Sort(names)
	return names
}

func TestPutAndRead(t *testing.T) {
	ctx := t.Context()
	for _, noSync := range []bool{false, true} {
		dir := t.TempDir()
		l, err := Create(dir, Options{NoSync: noSync})
		fail.On(t, err)
		for _, text := range []string{"", "a", strings.Repeat("content ", 10_000)} {
			for _, alg := range []digest.Algorithm{digest.SHA256, digest.SHA512} {
				desc := ocispec.Descriptor{Digest: alg.FromString(text), Size: int64(len(text))}
				if l.Has(desc) {
					t.Errorf("Has(%s) before Put", desc.Digest)
				}
				fail.On(t, l.Put(ctx, desc, iotest.OneByteReader(strings.NewReader(text))))
				if !l.Has(desc) {
					t.Errorf("not Has(%s) after Put", desc.Digest)
				}
				again, err := Open(dir)
				fail.On(t, err)
				raw, err := again.Read(ctx, desc, desc.Size)
				if err != nil || string(raw) != text {
					t.Errorf("Read(%s) = %d bytes, %v", desc.Digest, len(raw), err)
				}
				if _, err := again.Read(ctx, desc, desc.Size-1); err == nil {
					t.Errorf("Read(%s) kept no limit", desc.Digest)
				}
			}
		}
	}
}

func TestPutRefuses(t *testing.T) {
	broken := errors.New("connection reset")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for name, tc := range map[string]struct {
		ctx    context.Context
		body   io.Reader
		reason string
		err    error
	}{
		"short":     {t.Context(), strings.NewReader("conten"), "ends after 6 of 7", nil},
		"empty":     {t.Context(), strings.NewReader(""), "ends after 0 of 7", nil},
		"long":      {t.Context(), strings.NewReader("contents"), "goes on after 7", nil},
		"other":     {t.Context(), strings.NewReader("CONTENT"), "its digest is", nil},
		"error":     {t.Context(), io.MultiReader(strings.NewReader("con"), iotest.ErrReader(broken)), "", broken},
		"cancelled": {ctx, io.MultiReader(strings.NewReader("con"), cancelling{cancel}), "", context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			l, dir := newLayout(t)
			before := files(t, dir)
			err := l.Put(tc.ctx, describe("content"), tc.body)
			var corrupt *CorruptError
			if tc.err != nil && !errors.Is(err, tc.err) || tc.err == nil && !errors.As(err, &corrupt) || err == nil {
				t.Fatalf("Put = %v", err)
			}
			if !strings.Contains(err.Error(), tc.reason) {
				t.Errorf("Put = %v, want it to say %q", err, tc.reason)
			}
			fail.Diff(t, before, files(t, dir))
		})
	}
}

// cancelling is a reader that calls cancel and then returns one byte.
type cancelling struct{ cancel func() }

func (c cancelling) Read(p []byte) (int, error) {
	c.cancel()
	p[0] = 't'
	return 1, nil
}

func TestPutTwiceReadsNothing(t *testing.T) {
	l, _ := newLayout(t)
	desc := describe("content")
	fail.On(t, l.Put(t.Context(), desc, strings.NewReader("content")))
	fail.On(t, l.Put(t.Context(), desc, iotest.ErrReader(errors.New("read"))))
}

func TestBadDigests(t *testing.T) {
	l, _ := newLayout(t)
	for _, d := range []digest.Digest{
		"", "sha256:", "sha256:../../../etc/passwd", "md5:d41d8cd98f00b204e9800998ecf8427e", "sha256:E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855",
		digest.SHA384.FromString("x"), "../x:abc",
	} {
		desc := ocispec.Descriptor{Digest: d, Size: 1}
		if l.Has(desc) {
			t.Errorf("Has(%q)", d)
		}
		if err := l.Put(t.Context(), desc, strings.NewReader("x")); err == nil {
			t.Errorf("Put(%q) took it", d)
		}
		if _, err := l.Blob(t.Context(), desc, 0); err == nil {
			t.Errorf("Blob(%q) opened it", d)
		}
		if err := l.Remove(desc); err == nil {
			t.Errorf("Remove(%q) returned no error", d)
		}
	}
	if err := l.Put(t.Context(), ocispec.Descriptor{Digest: digest.FromString(""), Size: -1}, strings.NewReader("")); err == nil {
		t.Error("Put took a negative size")
	}
}

func TestLinksAreNotFollowed(t *testing.T) {
	l, dir := newLayout(t)
	outside := filepath.Join(t.TempDir(), "secret")
	fail.On(t, os.WriteFile(outside, []byte("secret"), 0o644))
	desc := describe("secret")
	blob := filepath.Join(dir, "blobs", "sha256", desc.Digest.Encoded())
	fail.On(t, os.WriteFile(filepath.Join(dir, "inside"), []byte("secret"), 0o644))
	for _, target := range []string{outside, "../../inside"} {
		if err := os.Symlink(target, blob); err != nil {
			t.Skip(err)
		}
		if l.Has(desc) {
			t.Errorf("Has follows a link to %s", target)
		}
		if _, err := l.Blob(t.Context(), desc, 0); err == nil {
			t.Errorf("Blob follows a link to %s", target)
		}
		fail.On(t, os.Remove(blob))
	}
	fail.On(t, errors.Join(os.Remove(filepath.Join(dir, "index.json")), os.Symlink(outside, filepath.Join(dir, "index.json"))))
	if _, err := l.Index(); err == nil {
		t.Error("Index follows a link")
	}
	fail.On(t, errors.Join(os.RemoveAll(filepath.Join(dir, "blobs")), os.Symlink(t.TempDir(), filepath.Join(dir, "blobs"))))
	if err := l.Put(t.Context(), desc, strings.NewReader("secret")); err == nil {
		t.Error("Put follows a link out of the folder")
	}
}

func TestWrite(t *testing.T) {
	l, dir := newLayout(t)
	desc, err := l.Write(t.Context(), "text/plain", func(w io.Writer) error {
		_, err := io.WriteString(w, "content")
		return err
	})
	want := describe("content")
	want.MediaType = "text/plain"
	fail.On(t, err)
	fail.Diff(t, want, desc)
	if raw, err := l.Read(t.Context(), desc, 10); err != nil || string(raw) != "content" {
		t.Errorf("Read = %q, %v", raw, err)
	}
	before := files(t, dir)
	broken := errors.New("broken")
	_, err = l.Write(t.Context(), "", func(w io.Writer) error { _, _ = io.WriteString(w, "half"); return broken })
	if !errors.Is(err, broken) {
		t.Errorf("Write = %v, want %v", err, broken)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = l.Write(ctx, "", func(w io.Writer) error { cancel(); _, err := io.WriteString(w, "half"); return err })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Write = %v, want it cancelled", err)
	}
	fail.Diff(t, before, files(t, dir))
}

func TestCreateAndOpen(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of an absent folder = %v", err)
	}
	if _, err := Open(dir); !errors.Is(err, fs.ErrNotExist) || !strings.HasSuffix(err.Error(), "it has no file oci-layout") {
		t.Errorf("Open of an empty folder = %v", err)
	}
	_, err := Create(dir, Options{})
	fail.On(t, err)
	fail.Diff(t, []string{"index.json", "oci-layout"}, files(t, dir))
	// The layout of a run that died before it wrote the marker is completed.
	fail.On(t, os.Remove(filepath.Join(dir, "oci-layout")))
	_, err = Create(dir, Options{})
	fail.On(t, err)
	fail.On(t, os.WriteFile(filepath.Join(dir, "oci-layout"), []byte(`{"imageLayoutVersion:"1.0.0"}`), 0o644))
	if _, err := Open(dir); advice.KindOf(err) != advice.Mismatch || !strings.Contains(advice.Hint(err), `write {"imageLayoutVersion":"1.0.0"}`) {
		t.Errorf("a damaged oci-layout: %v", err)
	}
	fail.On(t, os.WriteFile(filepath.Join(dir, "oci-layout"), []byte(`{"imageLayoutVersion":"2.0.0"}`), 0o644))
	for name, open := range map[string]func() (*Layout, error){
		"Open":   func() (*Layout, error) { return Open(dir) },
		"Create": func() (*Layout, error) { return Create(dir, Options{}) },
	} {
		if _, err := open(); err == nil || !strings.Contains(err.Error(), `"2.0.0"`) {
			t.Errorf("%s of another version = %v", name, err)
		}
	}
	home := t.TempDir()
	fail.On(t, os.WriteFile(filepath.Join(home, "thesis.tex"), nil, 0o644))
	if _, err := Create(home, Options{}); err == nil || !strings.Contains(err.Error(), "thesis.tex") {
		t.Errorf("Create in a folder with other files = %v", err)
	}
	fail.Diff(t, []string{"thesis.tex"}, files(t, home))
}

func TestStaleFilesAreRemoved(t *testing.T) {
	l, dir := newLayout(t)
	if _, err := l.draft(digest.SHA256); err != nil { // of a killed run
		t.Fatal(err)
	}
	draft := files(t, dir)[0]
	info, err := l.root.Stat(draft)
	fail.On(t, err)
	_, err = create(dir, Options{}, info.ModTime())
	fail.On(t, err)
	fail.Diff(t, []string{draft, "index.json", "oci-layout"}, files(t, dir))
	_, err = create(dir, Options{}, info.ModTime().Add(time.Second))
	fail.On(t, err)
	fail.Diff(t, []string{"index.json", "oci-layout"}, files(t, dir))
}

// TestLockRemovesWhatDeadRunsLeft checks that the lock removes all temporary files, even recent
// ones: only the process that has the lock writes, so they belong to killed runs.
func TestLockRemovesWhatDeadRunsLeft(t *testing.T) {
	l, dir := newLayout(t)
	if _, err := l.disk.Draft("."); err != nil { // of a killed run
		t.Fatal(err)
	}
	for _, of := range []digest.Algorithm{digest.SHA256, digest.SHA512} {
		_, err := l.draft(of)
		fail.On(t, err)
	}
	again, err := Create(dir, Options{})
	fail.On(t, err)
	lock, err := again.Lock()
	fail.On(t, err)
	live, err := again.draft(digest.SHA256)
	fail.On(t, err)
	before := files(t, dir)
	if len(before) != 4 { // the lock, the draft, the marker and the index
		t.Errorf("with a run in progress: %v", before)
	}
	// Another process that tries to lock the layout removes nothing.
	third, err := Create(dir, Options{})
	fail.On(t, err)
	var locked *lockfile.LockedError
	if _, err := third.Lock(); !errors.As(err, &locked) {
		t.Errorf("the second lock: %v", err)
	}
	fail.Diff(t, before, files(t, dir))
	fail.On(t, errors.Join(live.Discard(), lock.Release()))
	fail.Diff(t, []string{"index.json", "oci-layout"}, files(t, dir))
}

func TestConcurrentPut(t *testing.T) {
	l, dir := newLayout(t)
	text := bytes.Repeat([]byte("x"), 1<<20)
	desc := describe(string(text))
	done := make(chan error)
	for range 8 {
		go func() { done <- l.Put(t.Context(), desc, bytes.NewReader(text)) }()
	}
	for range 8 {
		fail.On(t, <-done)
	}
	fail.Diff(t, []string{"blobs/sha256/" + desc.Digest.Encoded(), "index.json", "oci-layout"}, files(t, dir))
}
