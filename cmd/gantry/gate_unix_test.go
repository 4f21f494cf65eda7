//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/gates"
)

// program writes a script that is run as a gate.
func (w *fixture) program(name, text string) string {
	w.t.Helper()
	file := w.write(name, "#!/bin/sh\n"+text+"\n")
	if err := os.Chmod(file, 0o755); err != nil {
		w.t.Fatal(err)
	}
	return file
}

// TestGate refuses an image, which is then missing, and keeps its package out of the catalog.
func TestGate(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	isc, asked := w.path("imageset.yaml"), w.path("asked")
	scan := w.program("scan.sh", `cat >> `+asked+`
case "$1" in
*/lantern/store@sha256:*) echo "CVE-2026-1 in $GANTRY_PLATFORM"; exit 1;;
esac`)
	w.leaves("-c", isc, w.docker("/a"), "--gate", scan)
	w.without("a")
	questions := readQuestions(t, asked)
	platforms, indexes := map[string]bool{}, 0
	for _, q := range questions {
		platforms[q.Platform] = true
		if q.Index != "" {
			indexes++
		}
		if q.Size <= 0 || q.Digest == "" || len(q.Reasons) == 0 || !strings.HasSuffix(q.Reference, "@"+q.Digest.String()) || q.Kind == "catalog" {
			t.Errorf("the gate was asked %+v", q)
		}
	}
	if !platforms["linux/amd64"] || !platforms["linux/arm64"] || indexes == 0 {
		t.Errorf("the gate was asked about the platforms %v", platforms)
	}

	// By default, the catalog is withheld. The reason is printed, also as JSON.
	o := w.gantry("mirror", "-c", isc, w.docker("/b"), "--gate", scan, "-o", "json")
	var result struct{ Gate gates.GateResult }
	if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || o.code != exitPartial {
		t.Fatalf("%d, %v: %s%s", o.code, err, o.stdout, o.stderr)
	}
	if g := result.Gate; g.Refused == 0 || g.Refused != len(g.Answers) || g.Accepted+g.Refused != len(questions) || !strings.Contains(g.Answers[0].Reason, "CVE-2026-1 in linux/") {
		t.Errorf("%+v", g)
	}
	if o := w.gantry("mirror", "-c", isc, w.docker("/b"), "--gate", scan); !strings.Contains(o.stderr, "CVE-2026-1") || !strings.Contains(o.stderr, "withheld") || !strings.Contains(o.stdout, " refused.") {
		t.Errorf("%s%s", o.stdout, o.stderr)
	}
	if o := w.gantry("mirror", "-c", isc, w.docker("/c"), "--gate", scan, "--on-error", "stop"); o.code != exitError || !strings.Contains(o.stderr, "CVE-2026-1") {
		t.Errorf("%d %s", o.code, o.stderr)
	}
	if log := w.read("workspace/audit.ndjson"); !regexp.MustCompile(`"gate".*/lantern/store@sha256:.*scan.sh","result":"refused".*CVE-2026-1 in linux/`).MatchString(log) {
		t.Errorf("no refused image is in\n%s", log)
	}
	if o := w.gantry("plan", "-c", isc, "--gate", scan); o.code != exitPartial || !strings.Contains(o.stdout, "CVE-2026-1") || !strings.Contains(o.stdout, "Gate "+scan) {
		t.Errorf("%d %s", o.code, o.stdout)
	}
}

// readQuestions reads what a script was asked.
func readQuestions(t *testing.T, file string) (all []gates.GateImage) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var q gates.GateImage
		if err := json.Unmarshal([]byte(line), &q); err != nil {
			t.Fatal(err)
		}
		all = append(all, q)
	}
	return all
}

// TestGateAnswers checks gates for plans, programs that fail, and answers that are remembered.
func TestGateAnswers(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	small, asked := w.config("small.yaml", storeOnly), w.path("asked")
	run := func(args ...string) []string { return append([]string{"mirror", "-c", small, w.docker("/a")}, args...) }
	no := w.program("no.sh", "grep '\"name\": \"small\"' >/dev/null || exit 3; echo \"$1 has too much\"; exit 1")
	w.refuse(exitMismatch, []string{"refuses the plan sha256:", "has too much"}, run("--gate-plan", no)...)
	w.refuse(exitMismatch, []string{"refuses the plan sha256:"}, "plan", "-c", small, "--gate-plan", no)
	w.refuse(exitError, []string{"could not decide", "status 3: no database"}, run("--gate-plan", w.program("broken.sh", "echo no database >&2; exit 3"))...)
	w.refuse(exitError, []string{"the program could decide about none of", "no database"}, run("--gate", w.path("broken.sh"))...)
	w.refuse(exitError, []string{"took longer than 200ms"}, run("--gate-plan", w.program("slow.sh", "sleep 60"), "--gate-timeout", "200ms")...)
	w.refuse(exitUsage, []string{"--gate: ", "one program, without arguments"}, run("--gate", "trivy image")...)
	w.refuse(exitUsage, []string{"chmod +x"}, run("--gate", w.write("plain.sh", "exit 0"))...)
	w.refuse(exitUsage, []string{"--gate-valid"}, run("--gate-valid", "1h")...)
	w.refuse(exitUsage, []string{"--gate is empty"}, run("--gate", "")...)
	w.refuse(exitUsage, []string{"--gate-plan"}, "mirror", "--from", "file://"+w.path("disk"), w.docker("/a"), "--gate", no)
	for request, n := range w.mirror.Requests() {
		if !strings.HasPrefix(request, "GET ") && !strings.HasPrefix(request, "HEAD ") {
			t.Errorf("the mirror was sent %d times %s", n, request)
		}
	}

	yes := w.program("yes.sh", "cat >> "+asked)
	for range 2 {
		w.must(run("--gate", yes, "--gate-plan", w.program("fine.sh", "exit 0"), "--gate-valid", "1h")...)
	}
	once := len(readQuestions(t, asked))
	w.program("yes.sh", "cat >> "+asked+" # another version")
	w.must(run("--gate", yes, "--gate-valid", "1h")...)
	w.must(run("--gate", yes)...)
	if got := len(readQuestions(t, asked)); once == 0 || got != 3*once {
		t.Errorf("the gate was asked %d times, and %d times in all runs", once, got)
	}
	log := w.read("workspace/audit.ndjson")
	for _, want := range []string{
		`"gate".*"subject":"plan","digest":"sha256:[0-9a-f]{64}","by":"\S*/no.sh","result":"refused".*has too much`, `"gate".*"plan".*broken.sh","result":"failed".*no database`,
		`"gate".*"plan".*fine.sh","result":"accepted"`, `"gate".*"by":"\S*/yes.sh","result":"accepted"`,
	} {
		if !regexp.MustCompile(want).MatchString(log) {
			t.Errorf("%s is not in\n%s", want, log)
		}
	}
	// A plan may be gated when it is mirrored.
	lock := w.path("plan.json")
	w.must("plan", "-c", small, "--lock", lock)
	w.must("mirror", "--plan", lock, w.docker("/p"), "--gate", yes)
	// An archive's plan is gated at the site.
	disk := "file://" + w.path("disk")
	w.must("mirror", "-c", small, disk)
	w.refuse(exitMismatch, []string{"refuses the plan"}, "mirror", "--from", disk, w.docker("/site"), "--gate-plan", no)
}

// TestInterruptedGate checks that an interrupted run ends its gates at once.
func TestInterruptedGate(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	small, pid := w.config("small.yaml", storeOnly), w.path("pid")
	slow := w.program("slow.sh", "echo $$ > "+pid+".tmp; mv "+pid+".tmp "+pid+"; sleep 60 & wait")
	cmd := w.process(t.Context(), "mirror", "-c", small, w.docker("/a"), "--gate", slow, "--gate-parallel", "1", "--workspace", w.path("workspace"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitForFile(t, pid)
	text := strings.TrimSpace(w.read("pid"))
	began := time.Now()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code, took := cmd.ProcessState.ExitCode(), time.Since(began); code != exitInterrupted || took > endTime {
		t.Errorf("it ended with %d after %s", code, took)
	}
	group, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(endTime); syscall.Kill(-group, 0) == nil && !zombies(group); time.Sleep(20 * time.Millisecond) { //nolint:forbidigo // a test waits for a process
		if time.Now().After(end) {
			t.Fatal("processes of the gate run")
		}
	}
}

// waitForFile waits until a file exists.
func waitForFile(t *testing.T, file string) {
	t.Helper()
	for end := time.Now().Add(2 * endTime); ; time.Sleep(20 * time.Millisecond) { //nolint:forbidigo // a test waits for a process
		if _, err := os.Stat(file); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s is missing", file)
		}
	}
}

// zombies reports whether all processes of a group ended and only wait for their parent.
func zombies(group int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-g", strconv.Itoa(group)).Output()
	if err != nil {
		return false
	}
	for _, stat := range strings.Fields(string(out)) {
		if !strings.HasPrefix(stat, "Z") {
			return false
		}
	}
	return true
}
