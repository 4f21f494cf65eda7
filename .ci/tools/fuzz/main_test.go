package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func names(all []target) (names []string) {
	for _, t := range all {
		names = append(names, t.String())
	}
	return names
}

func TestChoose(t *testing.T) {
	t.Parallel()
	file := func(targets ...string) *fstest.MapFile {
		text := "package x\n"
		for _, name := range targets {
			text += "// Slow: it sleeps.\nfunc " + name + "(f *testing.F) {\n}\n"
		}
		return &fstest.MapFile{Data: []byte(text)}
	}
	all, err := find(fstest.MapFS{
		"b/x_test.go": file("FuzzB", "FuzzA", "Test"), "a/x_test.go": file("FuzzA"), "a/x.go": file("FuzzNo"), "c/x_test.go": file("FuzzC"),
		"tool/go.mod": {}, "tool/x_test.go": file("FuzzNo"), "a/testdata/x_test.go": file("FuzzNo"), ".ci/x_test.go": file("FuzzNo"),
	})
	if want := []string{"a.FuzzA", "b.FuzzA", "b.FuzzB", "c.FuzzC"}; err != nil || !slices.Equal(names(all), want) {
		t.Errorf("found %q (%v), want %q", names(all), err, want)
	}
	if err == nil && all[0].slow != "it sleeps" {
		t.Errorf("it is slow because %q", all[0].slow)
	}
	for args, want := range map[string]string{
		"-run B$": "b.FuzzB", "-run ^b": "b.FuzzA b.FuzzB", "-part 0/2": "a.FuzzA c.FuzzC", "-part 1/2": "b.FuzzA b.FuzzB", "-part 5/2": "b.FuzzA b.FuzzB", "-run FuzzD": "",
		"-begin 1/2": "b.FuzzA b.FuzzB c.FuzzC a.FuzzA", "-begin 8/4": "a.FuzzA b.FuzzA b.FuzzB c.FuzzC",
	} {
		o, err := parse(strings.Fields(args))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(names(choose(all, o)), " "); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
	for _, args := range []string{"-part 1", "-part 1/0", "-part -1/2", "-begin 1", "-at-once 0", "-run (", "x"} {
		if _, err := parse(strings.Fields(args)); err == nil {
			t.Errorf("%s is accepted", args)
		}
	}
}

// TestTimeUp tells a target whose time ended from one that failed.
func TestTimeUp(t *testing.T) {
	t.Parallel()
	for out, want := range map[string]bool{
		"fuzz: elapsed: 5s, execs: 9 (1/sec), new interesting: 0 (total: 1)\n--- FAIL: FuzzA (5.46s)\n    context deadline exceeded\nFAIL\n":          true,
		"--- FAIL: FuzzA (0.46s)\n    --- FAIL: FuzzA (0.00s)\n        a_test.go:1: context deadline exceeded\nFAIL\n":                                false,
		"--- FAIL: FuzzA (0.46s)\n    --- FAIL: FuzzA (0.00s)\n        a_test.go:1: no\n    \n    Failing input written to testdata/fuzz/A/1\nFAIL\n": false,
	} {
		if got := timeUp(out); got != want {
			t.Errorf("%q: %t", out, got)
		}
	}
}

// TestRun fuzzes a target that finds nothing and one that fails at once.
func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module x\n\ngo 1.26\n",
		"x_test.go": "package x\n\nimport \"testing\"\n\nfunc FuzzFine(f *testing.F) {\n\tf.Fuzz(func(t *testing.T, b []byte) {})\n}\n\n" +
			"func FuzzWrong(f *testing.F) {\n\tf.Fuzz(func(t *testing.T, b []byte) { t.Fatal(\"no\") })\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	report := filepath.Join(dir, "report.md")
	common := []string{"-dir", dir, "-o", report, "-time", "1s", "-plain"}
	if err := run(t.Context(), append(common, "-run", "Fine")); err != nil {
		t.Error(err)
	}
	err := run(t.Context(), common)
	if err == nil || err.Error() != "1 targets failed: ..FuzzWrong" {
		t.Errorf("the error is %v", err)
	}
	text, err := os.ReadFile(report)
	if err != nil || !strings.Contains(string(text), "| FuzzFine | ") || !strings.Contains(string(text), " | **failed** |\n") || !strings.Contains(string(text), "\n2 of 2 targets ran, 1s each") {
		t.Errorf("the report (%v):\n%s", err, text)
	}
	if err := run(t.Context(), append(common, "-budget", "1ms")); err != nil {
		t.Error(err)
	}
	if text, err = os.ReadFile(report); err != nil || !strings.Contains(string(text), "\n0 of 2 targets ran") {
		t.Errorf("the report without time (%v):\n%s", err, text)
	}
}
