package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestIndenter(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	i := &indenter{w: &b, prefix: "> "}
	for _, part := range []string{"one\ntw", "o\n", "\n", "three"} {
		if n, err := i.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("Write(%q) = %d, %v", part, n, err)
		}
	}
	i.end()
	i.end()
	fail.Diff(t, "> one\n> two\n> \n> three\n", b.String())
}

func TestSize(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 1_234_567: "1.2 MB"} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %q, want %q", n, got, want)
		}
	}
}

// Only what the demo wrote is removed from its folder.
func TestNewDemoCleansUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mine, theirs, program := filepath.Join(dir, planFile), filepath.Join(dir, "notes.txt"), filepath.Join(dir, "gantry")
	for _, f := range []string{mine, theirs} {
		fail.On(t, os.WriteFile(f, nil, 0o600))
	}
	if _, err := newDemo(program, dir, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "make build") {
		t.Errorf("without a program: %v, want the advice to build it", err)
	}
	fail.On(t, os.WriteFile(program, nil, 0o700))
	if _, err := newDemo(program, dir, &strings.Builder{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mine); err == nil {
		t.Errorf("%s is still there", mine)
	}
	if _, err := os.Stat(theirs); err != nil {
		t.Error(err)
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	d := &demo{out: &b}
	d.title("first")
	d.title("second")
	b.Reset()
	d.times(90 * time.Second)
	fail.Diff(t, "\n    90.0 s  make build\n     0.0 s  1. first\n     0.0 s  2. second\n", b.String())
}
