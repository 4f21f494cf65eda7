package state

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func says(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func content(t *testing.T, open func() (io.ReadCloser, error)) string {
	t.Helper()
	f, err := open()
	fail.On(t, err)
	text, err := io.ReadAll(f)
	fail.On(t, errors.Join(err, f.Close()))
	return string(text)
}

// The history of a name keeps one entry and one record a sequence, in order, and
// an archive that could not be noted leaves what was there.
func TestExports(t *testing.T) {
	dir := t.TempDir()
	w, err := Open(dir)
	fail.On(t, err)
	defer func() { _ = w.Close() }()
	if all, err := w.Exports("a"); err != nil || all != nil {
		t.Errorf("before the first: %v, %v", all, err)
	}
	at := time.Date(2026, 11, 1, 2, 3, 4, 0, time.UTC)
	entry := func(sequence int, set digest.Digest) Export {
		return Export{SetRef: SetRef{Sequence: sequence, Set: set}, Date: at, Plan: digest.FromString("plan"), Full: sequence == 1, Dir: "/media/disk"}
	}
	two, one, done := entry(2, ""), entry(1, digest.FromString("one")), entry(2, digest.FromString("two"))
	for _, save := range []struct {
		Export
		record func(io.Writer) error
	}{{two, says("second")}, {one, says("first")}, {done, nil}} {
		fail.On(t, w.SaveExport("a", save.Export, save.record))
	}
	broken := errors.New("no space")
	fail.Diff(t, broken, w.SaveExport("a", entry(1, ""), func(io.Writer) error { return broken }), cmpopts.EquateErrors())
	all, err := w.Exports("a")
	if diff := cmp.Diff([]Export{one, done}, all); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for sequence, want := range []string{1: "first", 2: "second"} {
		if sequence > 0 {
			fail.Diff(t, want, content(t, func() (io.ReadCloser, error) { return w.OpenExportReceipt("a", sequence) }))
		}
	}
	if other, err := w.Exports("b"); err != nil || other != nil {
		t.Errorf("another name has %v, %v", other, err)
	}
	file := filepath.Join(dir, "archives", "a", "history.json")
	for _, bad := range []string{"[{", `[{"sequence":2},{"sequence":1}]`, `[{"sequence":0}]`} {
		fail.On(t, os.WriteFile(file, []byte(bad), 0o600))
		if _, err := w.Exports("a"); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestReceipts(t *testing.T) {
	dir := t.TempDir()
	w, err := Open(dir)
	fail.On(t, err)
	defer func() { _ = w.Close() }()
	if _, err := w.OpenReceipt("mirror", "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before the first: %v", err)
	}
	for _, text := range []string{"one", "another"} {
		file, err := w.SaveReceipt("mirror", "a", says(text))
		fail.On(t, err)
		if raw, err := os.ReadFile(file); err != nil || string(raw) != text {
			t.Errorf("%s says %q, %v", file, raw, err)
		}
	}
	if _, err := w.OpenReceipt("other", "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of another mirror: %v", err)
	}
	fail.On(t, w.SaveImportedPlan("mirror", "a", says("plan")))
	fail.Diff(t, "plan", content(t, func() (io.ReadCloser, error) { return w.OpenImportedPlan("mirror", "a") }))
}
