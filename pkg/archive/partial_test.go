package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

// reference returns the files that an uninterrupted run writes.
func reference(t *testing.T, s *sample, opts Options) map[string]string {
	t.Helper()
	dir := t.TempDir()
	s.write(t, dir, opts)
	return folder(t, dir)
}

func begin(t *testing.T, dir string, s *sample, opts Options) *Writer {
	t.Helper()
	w, err := Create(t.Context(), dir, s.content(), opts)
	fail.On(t, err)
	return w
}

// TestInterruptedAfterEachEntry checks that after a run ends or is killed at any entry, the next run writes only the
// missing entries, and that the result is the same as without an interruption.
func TestInterruptedAfterEachEntry(t *testing.T) {
	s := newSample(1, 50000, 9000, 0, 40000)
	want := reference(t, s, small)
	for n := range len(s.Entries) + 1 {
		dir := t.TempDir()
		w := begin(t, dir, s, small)
		for _, e := range s.Entries[:n] {
			fail.On(t, w.PutBlob(t.Context(), "", e, s.open(e.Digest)))
		}
		s.continued(t, crash(t, dir), small, len(s.Entries)-n, want)
		if err := w.Finish(t.Context()); (err == nil) != (n == len(s.Entries)) {
			t.Errorf("Finish after %d entries = %v", n, err)
		}
		fail.On(t, w.Close())
		if n == 0 {
			fail.Diff(t, []string(nil), names(t, dir))
		} else if n < len(s.Entries) {
			if _, err := Open(dir); err == nil {
				t.Error("an unfinished archive was opened")
			}
		}
		s.continued(t, dir, small, len(s.Entries)-n, want)
	}
}

// continued continues an interrupted run, which has to put n entries, and compares what it writes.
func (s *sample) continued(t *testing.T, dir string, opts Options, n int, want map[string]string) {
	t.Helper()
	w := begin(t, dir, s, opts)
	if put := s.put(t, w); put != n || w.Sequence() != 1 {
		t.Errorf("%d entries were put, want %d; the sequence is %d", put, n, w.Sequence())
	}
	fail.On(t, errors.Join(w.Finish(t.Context()), w.Close()))
	if diff := cmp.Diff(want, folder(t, dir)); diff != "" {
		t.Errorf("after all but %d entries: %.500s", n, diff)
	}
}

// crash copies the folder in the state that a dead process leaves, without closing the Writer.
func crash(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	fail.On(t, os.CopyFS(to, os.DirFS(dir)))
	return to
}

// TestDamagedPartialWork checks that unfinished work is verified before it is continued, and that
// damaged content is written again.
func TestDamagedPartialWork(t *testing.T) {
	s := newSample(1, 300000, 9000, 700)
	want := reference(t, s, Options{})
	at := func(w *Writer, i int) *entry { return w.slot(s.Entries[i].Digest).entry }
	for name, tc := range map[string]struct {
		file   string
		change func(w *Writer) func([]byte) []byte
		again  int
	}{
		"content": {volumeName(1, 1), func(w *Writer) func([]byte) []byte { return flip(at(w, 1).Offset * 8) }, 1},
		"header":  {volumeName(1, 1), func(w *Writer) func([]byte) []byte { return flip((at(w, 1).Offset - 512) * 8) }, 1},
		"padding": {volumeName(1, 1), func(w *Writer) func([]byte) []byte { e := at(w, 7); return flip((e.Offset + e.Size) * 8) }, 1},
		"volume":  {volumeName(1, 1), func(*Writer) func([]byte) []byte { return func([]byte) []byte { return nil } }, 9},
		"journal": {journalName, func(*Writer) func([]byte) []byte { return func([]byte) []byte { return nil } }, 9},
		"torn journal": {journalName, func(*Writer) func([]byte) []byte {
			return func(raw []byte) []byte { return raw[:len(raw)-7] }
		}, 1},
		"other journal": {journalName, func(*Writer) func([]byte) []byte {
			return func([]byte) []byte { return bytes.Repeat([]byte{0}, 100_000) }
		}, 9},
		"set manifest": {setName(1), func(*Writer) func([]byte) []byte { return flip(100) }, 9},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			w := begin(t, dir, s, Options{})
			s.put(t, w)
			fail.On(t, w.Close())
			alter(t, filepath.Join(dir, partialName, tc.file), tc.change(w))
			s.continued(t, dir, Options{}, tc.again, want)
		})
	}
}

// TestInterruptedFinish checks that a run killed while it renames files is continued.
func TestInterruptedFinish(t *testing.T) {
	s, opts := newSample(1, 20000, 20000, 20000), Options{VolumeSize: 32 << 10}
	want := reference(t, s, opts)
	var all []string
	for name := range want {
		if name != setName(1) {
			all = append(all, name)
		}
	}
	for n := range len(all) + 1 {
		dir := t.TempDir()
		w := begin(t, dir, s, opts)
		s.put(t, w)
		for i := range w.set.Volumes {
			fail.On(t, w.finishVolume(t.Context(), i))
		}
		fail.On(t, os.WriteFile(filepath.Join(dir, partialName, sumName(1)), sum(setID{sequence: 1}, w.digest), 0o644))
		dead := crash(t, dir)
		fail.On(t, w.Close())
		for _, name := range all[:n] {
			fail.On(t, os.Rename(filepath.Join(dead, partialName, name), filepath.Join(dead, name)))
		}
		if _, err := Open(dead); err == nil {
			t.Error("an unfinished archive was opened")
		}
		s.continued(t, dead, opts, 0, want)
	}
}

// TestOtherUnfinishedWork checks that shared content of unfinished work for another plan is kept,
// and that a finished set beside it is not changed.
func TestOtherUnfinishedWork(t *testing.T) {
	old, given, wanted := newSample(1, 1000), newSample(2, 2000), newSample(3, 3000)
	dir := t.TempDir()
	old.write(t, dir, Options{})
	before := folder(t, dir)
	w := begin(t, dir, given, Options{})
	given.put(t, w)
	fail.On(t, w.Close())
	// The run had already renamed a volume.
	fail.On(t, os.Rename(filepath.Join(dir, partialName, volumeName(2, 1)), filepath.Join(dir, volumeName(2, 1))))
	w = begin(t, dir, wanted, Options{})
	if n := wanted.fetch(t, w); n != len(wanted.Entries)-1 { // they share a config
		t.Errorf("%d entries were needed", n)
	}
	for name, text := range before {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != text {
			t.Errorf("%s of the finished set was touched: %v", name, err)
		}
	}
	old.check(t, dir) // readable until the new one is complete
	fail.On(t, errors.Join(w.Finish(t.Context()), w.Close()))
	wanted.check(t, dir)
	want := []string{volumeName(1, 1), setName(1), sumName(1), volumeName(2, 1), setName(2), sumName(2)}
	fail.Diff(t, want, names(t, dir))
}

// TestDamagedSetIsNotContinued checks that a damaged set is left unchanged, and that a new one is
// written.
func TestDamagedSetIsNotContinued(t *testing.T) {
	s, dir := newSample(1, 1000), t.TempDir()
	s.write(t, dir, Options{})
	fail.On(t, os.Truncate(filepath.Join(dir, volumeName(1, 1)), 100))
	s.write(t, dir, Options{})
	s.check(t, dir)
	alter(t, filepath.Join(dir, setName(2)), flip(1000))
	s.write(t, dir, Options{})
	s.check(t, dir)
	if info, err := os.Stat(filepath.Join(dir, volumeName(1, 1))); err != nil || info.Size() != 100 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestWrongContent(t *testing.T) {
	s := newSample(1, 700_000)
	desc := s.Entries[1]
	good := s.bytes[desc.Digest]
	bad := bytes.Clone(good)
	bad[650_000] ^= 1
	broken := errors.New("connection reset")
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("interrupted")
	for name, tc := range map[string]struct {
		ctx  context.Context
		body io.Reader
		err  error
	}{
		"altered":   {t.Context(), bytes.NewReader(bad), nil},
		"short":     {t.Context(), bytes.NewReader(good[:699_999]), nil},
		"empty":     {t.Context(), bytes.NewReader(nil), nil},
		"long":      {t.Context(), bytes.NewReader(append(bytes.Clone(good), 0)), nil},
		"broken":    {t.Context(), io.MultiReader(bytes.NewReader(good[:600_000]), iotest.ErrReader(broken)), broken},
		"cancelled": {ctx, io.MultiReader(bytes.NewReader(good[:600_000]), &onRead{func() { cancel(stopped) }}, bytes.NewReader(good[600_000:])), stopped},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			w := begin(t, dir, s, Options{})
			err := w.PutBlob(tc.ctx, "", desc, func(context.Context, int64) (io.ReadCloser, error) { return io.NopCloser(tc.body), nil })
			var corrupt *layout.CorruptError
			if tc.err == nil && !errors.As(err, &corrupt) || tc.err != nil && !errors.Is(err, tc.err) {
				t.Errorf("PutBlob = %v", err)
			}
			if w.Has(desc) {
				t.Error("it counts as written")
			}
			fail.Diff(t, len(s.Entries), s.put(t, w))
			fail.On(t, errors.Join(w.Finish(t.Context()), w.Close()))
			s.check(t, dir)
		})
	}
}

// onRead is an empty reader that calls do.
type onRead struct{ do func() }

func (r *onRead) Read([]byte) (int, error) { r.do(); return 0, io.EOF }

func TestMisuse(t *testing.T) {
	s := newSample(1, 1000)
	w := begin(t, t.TempDir(), s, Options{})
	refused := errors.New("refused")
	fail.Diff(t, refused, w.PutBlob(t.Context(), "", s.Entries[0], func(context.Context, int64) (io.ReadCloser, error) { return nil, refused }), cmpopts.EquateErrors())
	unplanned := s.Entries[0]
	unplanned.Size++
	says(t, w.PutBlob(t.Context(), "", unplanned, s.open(unplanned.Digest)), "not part of this archive")
	says(t, w.Finish(t.Context()), "content was not written: sha256:")
	fail.On(t, errors.Join(w.Close(), w.Close()))
	says(t, w.PutBlob(t.Context(), "", s.Entries[0], s.open(s.Entries[0].Digest)), "closed")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if _, err := Create(ctx, dir, s.content(), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Create = %v", err)
	}
	fail.Diff(t, []string(nil), names(t, dir))
}

// TestCancelledWhileRecalling checks that unfinished work is kept if the next run is canceled while
// it reads that work.
func TestCancelledWhileRecalling(t *testing.T) {
	s, dir := newSample(1, 1000, 2000), t.TempDir()
	w := begin(t, dir, s, Options{})
	s.put(t, w)
	fail.On(t, w.Close())
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Create(ctx, dir, s.content(), Options{freeSpace: func(string) (int64, error) { cancel(); return 1 << 40, nil }})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("Create = %v", err)
	}
	w = begin(t, dir, s, Options{})
	fail.Diff(t, 0, s.put(t, w))
	fail.Diff(t, context.Canceled, w.Finish(ctx), cmpopts.EquateErrors())
	fail.On(t, errors.Join(w.Finish(t.Context()), w.Close()))
	s.check(t, dir)
}

func TestReadOnlyFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		for _, err := range []error{syscall.EROFS, syscall.EACCES} {
			err = explainReadOnly(&os.PathError{Op: "mkdir", Path: "x", Err: err})
			if !strings.Contains(fmt.Sprint(err), "cannot be written to") {
				t.Error(err)
			}
		}
		t.Skip("root writes everywhere")
	}
	dir := t.TempDir()
	fail.On(t, os.Chmod(dir, 0o555))
	_, err := Create(t.Context(), dir, newSample(1).content(), Options{})
	says(t, err, "cannot be written to")
}
