//go:build unix

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// program writes a script that is run as a gate.
func (w *fixture) program(name, text string) string {
	w.t.Helper()
	file := w.write(name, "#!/bin/sh\n"+text+"\n")
	fail.On(w.t, os.Chmod(file, 0o755))
	return file
}

// TestGateOutput checks what is printed about a gate that refuses an image, and the flags of gates.
func TestGateOutput(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	isc := w.path("imageset.yaml")
	scan := w.program("scan.sh", `case "$1" in
*/lantern/store@sha256:*) echo "CVE-2026-1 in $GANTRY_PLATFORM"; exit 1;;
esac`)
	o := w.gantry("mirror", "-c", isc, w.docker("/a"), "--gate", scan)
	if o.code != exitPartial {
		t.Errorf("it ended with %d", o.code)
	}
	w.says(o.stderr, "CVE-2026-1", "withheld")
	w.says(o.stdout, " refused.")
	if o := w.gantry("plan", "-c", isc, "--gate", scan); o.code != exitPartial || !strings.Contains(o.stdout, "CVE-2026-1") || !strings.Contains(o.stdout, "Gate "+scan) {
		t.Errorf("%d %s", o.code, o.stdout)
	}
	run := func(args ...string) []string { return append([]string{"mirror", "-c", isc, w.docker("/a")}, args...) }
	w.refuse(exitMismatch, []string{"refuses the plan sha256:", "has too much"}, run("--gate-plan", w.program("no.sh", "echo \"$1 has too much\"; exit 1"))...)
	w.refuse(exitUsage, []string{"--gate: ", "one program, without arguments"}, run("--gate", "trivy image")...)
	w.refuse(exitUsage, []string{"--gate-valid"}, run("--gate-valid", "1h")...)
	w.refuse(exitUsage, []string{"--gate is empty"}, run("--gate", "")...)
	w.refuse(exitUsage, []string{"--gate-plan"}, "mirror", "--from", "file://"+w.path("disk"), w.docker("/a"), "--gate", scan)
	// A plan may be gated when it is mirrored.
	lock := w.path("plan.json")
	w.must("plan", "-c", w.config("small.yaml", storeOnly), "--lock", lock)
	w.refuse(exitPartial, []string{"CVE-2026-1"}, "mirror", "--plan", lock, w.docker("/p"), "--gate", scan)
}
