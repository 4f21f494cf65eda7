package state

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// stateFiles has a function that reads each kind of state file, by the file's name.
var stateFiles = map[string]func(*Workspace) error{
	"mirrors/m.json":            func(w *Workspace) error { _, err := w.Records("m"); return err },
	"configurations.json":       func(w *Workspace) error { _, err := w.Configuration("ops"); return err },
	"plans/ops.json":            func(w *Workspace) error { return drainState(w.OpenPlan("ops")) },
	"imported/m/ops.json":       func(w *Workspace) error { return drainState(w.OpenImportedPlan("m", "ops")) },
	"receipts/m/ops.json":       func(w *Workspace) error { return drainState(w.OpenReceipt("m", "ops")) },
	"archives/ops/history.json": func(w *Workspace) error { _, err := w.Exports("ops"); return err },
	"archives/ops/000001.json":  func(w *Workspace) error { return drainState(w.OpenExportReceipt("ops", 1)) },
	"cluster-resources.txt":     func(w *Workspace) error { return w.CheckResources("m") },
}

func drainState(r io.ReadCloser, err error) error {
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r)
	return errors.Join(err, r.Close())
}

// fillState writes one file of each kind.
func fillState(t *testing.T, w *Workspace, text string) {
	t.Helper()
	write := func(out io.Writer) error { _, err := io.WriteString(out, `{"text": "`+text+`"}`); return err }
	_, saveErr := w.SaveReceipt("m", "ops", write)
	_, _, resourceErr := w.SaveResources("m", []resources.File{{Name: text + ".yaml", Text: []byte("x")}})
	if err := errors.Join(
		w.SaveRecord("m", "ops", &Record{Selections: map[string]digest.Digest{text: "x"}}), w.SaveConfiguration("ops", "/"+text), w.SavePlan("ops", write),
		w.SaveImportedPlan("m", "ops", write), saveErr, resourceErr,
		w.SaveExport("ops", Export{SetRef: SetRef{Sequence: 1}, Date: time.Unix(0, 0).UTC(), Dir: "/" + text}, write),
	); err != nil {
		t.Fatal(err)
	}
}

// TestDamageOfReplacedFiles damages the files that a run replaces without reading them first: each is named once, and is
// right afterwards.
func TestDamageOfReplacedFiles(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir)
	save := func(text string) error {
		write := func(out io.Writer) error { _, err := io.WriteString(out, text); return err }
		return errors.Join(w.SavePlan("ops", write), w.SaveLease("m", text), w.SaveRun(Run{Destination: "docker://m", Message: text}))
	}
	fail.On(t, save("first"))
	files := []string{"plans/ops.json", leasesFile, runsFile}
	for fault, damage := range map[string]func([]byte) []byte{
		"empty":         func([]byte) []byte { return nil },
		"zeros":         func(b []byte) []byte { return make([]byte, len(b)) },
		"a flipped bit": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
	} {
		var named []string
		w.OnDamage = func(name string) { named = append(named, name) }
		for _, name := range files {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), damage(text), 0o644)
			}
			fail.On(t, err)
		}
		if err := errors.Join(save("second"), save("third")); err != nil {
			t.Errorf("%s: %v", fault, err)
		}
		if !slices.Equal(named, files) {
			t.Errorf("%s: %v are damaged, want %v", fault, named, files)
		}
		if id := w.Lease("m"); id != "third" {
			t.Errorf("%s: the lease is %q", fault, id)
		}
	}
}

// TestAlteredState alters one letter of each state file: it is not used, and the error names it.
func TestAlteredState(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir)
	fillState(t, w, "first")
	for name, read := range stateFiles {
		path := filepath.Join(dir, name)
		whole, err := os.ReadFile(path)
		fail.On(t, err)
		if err := read(w); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		altered := bytes.Replace(whole, []byte("first"), []byte("other"), 1)
		if bytes.Equal(altered, whole) {
			t.Fatalf("%s has %s", name, whole)
		}
		fail.On(t, os.WriteFile(path, altered, 0o600))
		err = read(w)
		if !errors.Is(err, errAltered) || advice.KindOf(err) != advice.Mismatch || !strings.Contains(err.Error(), filepath.Base(name)) || !strings.Contains(advice.Hint(err), checksumFile) || len(advice.Hints(err)) != 1 {
			t.Errorf("%s: %v; %s", name, err, advice.Hint(err))
		}
		fail.On(t, os.WriteFile(path, whole, 0o600))
	}
	fail.On(t, os.WriteFile(filepath.Join(dir, "mirrors/m.json"), []byte("{}"), 0o600))
	fail.Diff(t, errAltered, w.SaveRecord("m", "more", &Record{}), cmpopts.EquateErrors())
}

// TestStateOfAKilledRun ends a run before and after a file gets its name: whichever of its two texts
// the file has, it is read.
func TestStateOfAKilledRun(t *testing.T) {
	other := t.TempDir()
	fillState(t, open(t, other), "second")
	late := readAll(t, other)
	for name, read := range stateFiles {
		dir := t.TempDir()
		w := open(t, dir)
		fillState(t, w, "first")
		early := readAll(t, dir)
		killed := errors.New("killed")
		sum := digest.FromString(late[name]).Encoded()
		if err := w.sums.replace(name, sum, func() error { return killed }); !errors.Is(err, killed) {
			t.Fatal(err)
		}
		if err := w.lock.Release(); err != nil { // the run ends without Close
			t.Fatal(err)
		}
		list := readAll(t, dir)[checksumFile]
		for _, text := range []string{early[name], late[name]} {
			fail.On(t, errors.Join(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600), os.WriteFile(filepath.Join(dir, checksumFile), []byte(list), 0o600)))
			again := open(t, dir)
			if err := errors.Join(read(again), again.Close()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			lines := strings.Split(strings.TrimSpace(readAll(t, dir)[checksumFile]), "\n")
			if len(lines) != len(stateFiles)+savedManifests || !slices.Contains(lines, digest.FromString(text).Encoded()+"  "+name) {
				t.Errorf("%s: the list has %d lines for %d files", name, len(lines), len(stateFiles))
			}
		}
	}
}

// savedManifests is how many manifests fillState writes. They have checksums, too.
const savedManifests = 1

// readAll returns the state files and their checksums by name.
func readAll(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, name := range append(slices.Collect(maps.Keys(stateFiles)), checksumFile) {
		text, err := os.ReadFile(filepath.Join(dir, name))
		fail.On(t, err)
		files[name] = string(text)
	}
	return files
}

// TestStateWithoutChecksums reads and completes a workspace whose files have no checksums, like those
// of older versions, or whose list has been removed in part.
func TestStateWithoutChecksums(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir)
	fillState(t, w, "first")
	fail.On(t, errors.Join(w.Close(), os.Remove(filepath.Join(dir, checksumFile)), os.Remove(filepath.Join(dir, "plans/ops.json"))))
	w = open(t, dir)
	for name, read := range stateFiles {
		if err := read(w); err != nil && name != "plans/ops.json" {
			t.Errorf("%s: %v", name, err)
		}
	}
	fillState(t, w, "first") // the same text again
	fail.Diff(t, len(stateFiles)+savedManifests, strings.Count(readAll(t, dir)[checksumFile], "\n"))
	fail.On(t, errors.Join(w.Close(), os.Remove(filepath.Join(dir, "plans/ops.json"))))
	w = open(t, dir)
	fail.On(t, w.Close())
	if list, err := os.ReadFile(filepath.Join(dir, checksumFile)); err != nil || strings.Contains(string(list), "plans/ops.json") {
		t.Errorf("a file that was removed is listed: %s, %v", list, err)
	}
}

func TestDamagedChecksums(t *testing.T) {
	for _, text := range []string{"x", strings.Repeat("0", 64) + " *plans/a.json\n", strings.Repeat("x", 1<<20)} {
		dir := t.TempDir()
		fail.On(t, os.WriteFile(filepath.Join(dir, checksumFile), []byte(text), 0o600))
		_, err := Open(dir)
		if advice.KindOf(err) != advice.Mismatch || !strings.Contains(err.Error(), checksumFile) || len(err.Error()) > 1000 {
			t.Errorf("%.20s: %v", text, err)
		}
		fail.On(t, os.Remove(filepath.Join(dir, checksumFile)))
		open(t, dir) // the lock was released
	}
}

func TestVerifyPlan(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir)
	fillState(t, w, "first")
	file := filepath.Join(dir, "plans/ops.json")
	other := filepath.Join(dir, "plans/other.json")
	fail.On(t, os.WriteFile(other, []byte("{}"), 0o600))
	for _, path := range []string{file, other, filepath.Join(dir, "plan.json"), filepath.Join(t.TempDir(), "plans/ops.json"), "plan.json"} {
		if err := VerifyPlan(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	fail.On(t, os.WriteFile(file, []byte("{}"), 0o600))
	if err := VerifyPlan(file); !errors.Is(err, errAltered) || advice.KindOf(err) != advice.Mismatch {
		t.Errorf("an altered plan: %v", err)
	}
}
