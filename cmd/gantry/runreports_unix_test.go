//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// reports checks what the files of --metrics-file and --summary have.
func (w *fixture) reports(metrics, summary []string) {
	w.t.Helper()
	for file, words := range map[string][]string{"run.prom": metrics, "run.md": summary} {
		text := w.read(file)
		for _, word := range words {
			if !strings.Contains(text, word) {
				w.t.Errorf("%s has no %s:\n%s", file, word, text)
			}
		}
	}
}

// TestRunReports checks the metrics and the summary of runs that are complete, fail or are partial.
func TestRunReports(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	small := w.config("small.yaml", storeOnly)
	run := func(more ...string) []string {
		return append([]string{"mirror", "-c", small, w.docker("/a"), "--metrics-file", w.path("run.prom"), "--summary", w.path("run.md")}, more...)
	}
	no := w.program("no.sh", "echo too large; exit 1")
	w.refuse(exitMismatch, []string{"too large"}, run("--gate-plan", no)...)
	w.reports([]string{`gantry_run_success{image_set="small"`, `result="failed"} 1`, `result="complete"} 0`}, []string{"# `small` to `" + w.docker("/a") + "`: failed", "too large"})
	w.must(run()...)
	w.reports([]string{`result="complete"} 1`, `result="failed"} 0`, "gantry_last_success_timestamp_seconds{", "gantry_content_timestamp_seconds{", `state="copied"} 1`, "gantry_run_copied_bytes{"},
		[]string{"`: complete\n", "| Images | 1: 1 copied, 0 already present, 0 failed |", "| Plan | `sha256:", "No package and no release has other versions."})

	// What was complete before stays known after a run that is not.
	w.refuse(exitPartial, []string{"CVE-2026-1"}, run("--gate", w.program("scan.sh", "echo CVE-2026-1; exit 1"))...)
	w.reports([]string{`result="partial"} 1`, "gantry_last_success_timestamp_seconds{"}, []string{"`: partial\n", "| Last complete run | ", "## Not mirrored", "CVE-2026-1"})

	// The result is printed also if its files cannot be written.
	for _, flag := range []string{"--metrics-file", "--failures"} {
		dir := filepath.Join(w.path("reports"), flag)
		fail.On(t, os.MkdirAll(dir, 0o750))
		o := w.gantry("mirror", "-c", small, w.docker("/a"), flag, filepath.Join(dir, "run"), "--gate", w.program("remove"+flag, "rm -rf "+dir))
		if o.code != exitError || !strings.Contains(o.stdout, "Nothing to copy") {
			t.Errorf("%s: status %d, %q, %s", flag, o.code, o.stdout, o.stderr)
		}
	}
}

// TestClosedWindow interrupts a run that waits for its window. It has changed nothing, and not locked the workspace.
func TestClosedWindow(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	small, later := w.config("small.yaml", storeOnly), time.Now().Add(6*time.Hour)
	args := []string{"mirror", "-c", small, w.docker("/a"), "--workspace", w.path("workspace")}
	cmd := w.process(t.Context(), append(args, "--window", later.Format("15:04")+"-"+later.Add(time.Hour).Format("15:04"), "--metrics-file", w.path("run.prom"), "--summary", w.path("run.md"))...)
	stderr, err := os.Create(w.path("stderr"))
	fail.On(t, err)
	defer stderr.Close() // it is read below
	cmd.Stderr = stderr
	fail.On(t, cmd.Start())
	for end := time.Now().Add(2 * endTime); !strings.Contains(w.read("stderr"), "nothing new begins until "); time.Sleep(20 * time.Millisecond) { //nolint:forbidigo // a test waits for a process
		if time.Now().After(end) {
			_ = cmd.Process.Kill()
			t.Fatalf("it does not wait:\n%s", w.read("stderr"))
		}
	}
	w.must(args...) // the workspace is not locked
	n := len(w.mirror.Log())
	began := time.Now()
	fail.On(t, cmd.Process.Signal(syscall.SIGINT))
	_ = cmd.Wait()
	if code, took := cmd.ProcessState.ExitCode(), time.Since(began); code != exitInterrupted || took > endTime {
		t.Errorf("it ended with %d after %s:\n%s", code, took, w.read("stderr"))
	}
	if len(w.mirror.Log()) != n {
		t.Error("the run that waited sent requests to the mirror")
	}
	w.reports([]string{`result="interrupted"} 1`, "gantry_last_success_timestamp_seconds{"}, []string{"`: interrupted\n"})
	w.refuse(exitUsage, []string{"--window", "22:00-05:00"}, append(args, "--window", "22-5")...)
}
