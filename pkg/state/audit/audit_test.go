package audit

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// A fixture is a log in a folder.
type fixture struct {
	t    *testing.T
	root *os.Root
	head Head
}

const name = "audit.ndjson"

func newFixture(t *testing.T) *fixture {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	fail.On(t, err)
	t.Cleanup(func() { _ = root.Close() })
	return &fixture{t: t, root: root}
}

func (f *fixture) path() string { return filepath.Join(f.root.Name(), name) }

var start = time.Date(2026, 11, 1, 2, 0, 0, 0, time.UTC)

// add appends entries, in a run of its own.
func (f *fixture) add(at time.Time, subjects ...string) {
	f.t.Helper()
	entries := elements.Map(subjects, func(s string) Entry { return Entry{Time: at, Event: ImageFailed, Subject: s} })
	l := New(f.root, name, f.head, func(h Head) error { f.head = h; return nil })
	fail.On(f.t, l.Append(at, entries...))
}

func (f *fixture) text() []byte {
	f.t.Helper()
	text, err := os.ReadFile(f.path())
	fail.On(f.t, err)
	return text
}

func (f *fixture) replace(text []byte) {
	f.t.Helper()
	fail.On(f.t, os.WriteFile(f.path(), text, 0o600))
}

func (f *fixture) verify() *Result {
	f.t.Helper()
	r, err := Verify(bytes.NewReader(f.text()), f.head, -1)
	fail.On(f.t, err)
	return r
}

func TestAppend(t *testing.T) {
	f := newFixture(t)
	f.add(start, "a", "b")
	f.add(start.Add(time.Hour), "c")
	f.add(start.Add(time.Minute), strings.Repeat("ä", maxText))
	r := f.verify()
	if len(r.Problems) > 0 || r.Entries != 4 || r.Head != f.head || len(r.Last) != 4 || r.Last[2].Subject != "c" || len(r.Last[3].Subject) > maxText+3 {
		t.Errorf("%+v", r)
	}
	if len(r.Notes) != 1 || r.Notes[0] != "line 4: the clock was set back by 59m0s" {
		t.Errorf("notes %q", r.Notes)
	}
	if r, err := Verify(bytes.NewReader(f.text()), f.head, 2); err != nil || len(r.Last) != 2 || r.Last[0].Subject != "c" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestDamage checks that every change of a byte, every missing line and every missing end is detected,
// and that it stays detected after further entries.
func TestDamage(t *testing.T) {
	f := newFixture(t)
	f.add(start, "a", "b", "c")
	whole := f.text()
	lines := bytes.SplitAfter(whole, []byte("\n"))
	check := func(what string, text []byte) {
		t.Helper()
		g := newFixture(t)
		g.head = f.head
		g.replace(text)
		if r := g.verify(); len(r.Problems) == 0 {
			t.Errorf("%s is not detected", what)
		}
		g.add(start, "d")
		g.add(start, "e")
		if r := g.verify(); len(r.Problems) == 0 {
			t.Errorf("%s is not detected after more entries:\n%s", what, g.text())
		} else if last := r.Last[len(r.Last)-1]; last.Subject != "e" {
			t.Errorf("%s: the last entry is %+v", what, last)
		}
	}
	for i := 0; i < len(whole); i += 7 {
		changed := bytes.Clone(whole)
		changed[i] ^= 1
		check("a changed byte", changed)
	}
	for i := 0; i < len(whole); i += 11 {
		check("a missing end", whole[:i])
	}
	check("a removed line", bytes.Join([][]byte{lines[0], lines[2]}, nil))
	check("a line that is twice there", bytes.Join([][]byte{lines[0], lines[1], lines[1], lines[2]}, nil))
	check("exchanged lines", bytes.Join([][]byte{lines[1], lines[0], lines[2]}, nil))
	check("a long line", bytes.Repeat([]byte("x"), 3*maxLine))
}

// TestCrash checks that a log continues after a crash at every byte of a write, and that the head may be
// older than the file.
func TestCrash(t *testing.T) {
	f := newFixture(t)
	f.add(start, "a")
	before, size := f.head, len(f.text())
	f.add(start, "b", "c")
	whole := f.text()
	for n := size; n <= len(whole); n += 3 {
		g := newFixture(t)
		g.head = before
		g.replace(whole[:n])
		if r := g.verify(); len(r.Problems) > 0 {
			t.Fatalf("%d bytes: %q", n, r.Problems)
		}
		torn := whole[n-1] != '\n'
		g.add(start, "next")
		r := g.verify()
		if len(r.Problems) > 0 || torn != (r.Last[len(r.Last)-2].Event == Recovered) {
			t.Fatalf("%d bytes: %q\n%s", n, r.Problems, g.text())
		}
	}
}

// TestLostHead checks that a log without a head, whose end may be missing, is detected, also after more entries. Before
// its first head is saved, a log has one entry.
func TestLostHead(t *testing.T) {
	f := newFixture(t)
	f.add(start, "a")
	f.head = Head{}
	if r := f.verify(); len(r.Problems) > 0 {
		t.Errorf("%q", r.Problems)
	}
	f.add(start, "b", "c")
	if r := f.verify(); len(r.Problems) > 0 || r.Entries != 3 {
		t.Errorf("%+v", r)
	}
	lines := bytes.SplitAfter(f.text(), []byte("\n"))
	f.replace(bytes.Join(lines[:2], nil))
	f.head = Head{}
	if r := f.verify(); len(r.Problems) != 1 {
		t.Errorf("%q", r.Problems)
	}
	f.add(start, "d")
	if r := f.verify(); len(r.Problems) != 1 || r.Last[len(r.Last)-1].Subject != "d" {
		t.Errorf("%+v", r)
	}
}

// TestHeadNotSaved checks that an entry without a saved head is kept.
func TestHeadNotSaved(t *testing.T) {
	f := newFixture(t)
	f.add(start, "a")
	full := errors.New("no space left on device")
	l := New(f.root, name, f.head, func(Head) error { return full })
	fail.Diff(t, full, l.Append(start, Entry{Time: start, Event: Gate}), cmpopts.EquateErrors())
	f.add(start, "b")
	if r := f.verify(); len(r.Problems) > 0 || r.Entries != 3 {
		t.Errorf("%+v", r)
	}
}

func FuzzVerify(f *testing.F) {
	f.Add([]byte("{\"sequence\":1,\"previous\":\"\"}\n"), int64(1), "")
	f.Add([]byte("{\"sequence\":1"), int64(0), "")
	f.Fuzz(func(t *testing.T, text []byte, sequence int64, hash string) {
		r, err := Verify(bytes.NewReader(text), Head{Sequence: sequence, Hash: hash}, 3)
		fail.On(t, err)
		if len(r.Last) > 3 || r.Entries > int64(len(text)) {
			t.Errorf("%+v", r)
		}
	})
}
