package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive/inspect"
	"github.com/gantry-mirror/gantry/archive/rebuild"
	"github.com/gantry-mirror/gantry/mirror/extract"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// looked runs a command that uses no workspace and checks its exit status.
func (w *fixture) looked(code int, args ...string) outcome {
	w.t.Helper()
	var stdout, stderr bytes.Buffer
	got := (&app{stdout: &stdout, stderr: &stderr, env: w.env}).run(args)
	w.checkOutput(args, stdout.Bytes())
	if got != code {
		w.t.Errorf("gantry %s ended with %d, want %d\n%s%s", strings.Join(args, " "), got, code, stdout.String(), stderr.String())
	}
	return outcome{stdout.String(), stderr.String(), got}
}

// says checks that a text contains words.
func (w *fixture) says(text string, words ...string) {
	w.t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			w.t.Errorf("the output does not contain %q:\n%s", word, text)
		}
	}
}

// decoded reads JSON that the program printed.
func decoded[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v:\n%.2000s", err, text)
	}
	return v
}

// disk writes an archive of the fixture's configuration, with volumes of half a megabyte, and opens it.
func (w *fixture) disk(name string, args ...string) (where string, have *archive.Archive, p *plan.Plan) {
	w.t.Helper()
	where = fileScheme + w.path(name)
	w.must(append([]string{"mirror", "-c", w.path("imageset.yaml"), where, "--volume-size", "0.5MB"}, args...)...)
	have, p = w.site().OpenArchive(where)
	return where, have, p
}

// TestArchiveOutput checks what the verbs of gantry archive print, and their exit statuses. TestScripts/archive has whole
// outputs.
func TestArchiveOutput(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	key, fingerprint := w.site().SSHKey("ops", "")
	disk, have, _ := w.disk("disk", "--sign-key", key, "--redundancy", "10%")
	second := have.Selected().Volumes[1].Name
	w.says(w.looked(exitOK, "archive", "inspect", disk, "--verify-key", key+".pub").stdout, "ops@example.com", fingerprint, w.path("disk/"+second))
	if got := decoded[inspect.Inspection](t, w.looked(exitOK, "archive", "inspect", disk, "-o", "json").stdout); got.Signature == nil || got.Signature.Key != fingerprint {
		t.Errorf("%+v", got)
	}
	if got := decoded[inspect.ArchiveImages](t, w.looked(exitOK, "archive", "list", disk, "-o", "json", "--filter", "acme/operator-inde?:v4.20").stdout); len(got.Images) != 1 {
		t.Errorf("%+v", got)
	}
	to := w.path("layout")
	if got := decoded[extract.Extracted](t, w.looked(exitOK, "archive", "extract", disk, "--to", to, "--output", "json").stdout); len(got.Images) == 0 {
		t.Errorf("%+v", got)
	}
	if text := w.looked(exitOK, "archive", "extract", disk, "--digest", have.PlanDigest().String(), "--to", "-").stdout; digest.FromString(text) != have.PlanDigest() {
		t.Errorf("%d bytes of the plan", len(text))
	}
	w.says(w.looked(exitOK, "archive", "repair-request", disk).stderr, "nothing to request")
	small := fileScheme + w.path("small")
	w.must("mirror", "-c", w.config("store.yaml", storeOnly), small, "--volume-size", "0.07MB", "--name", "imageset", "--full")
	if d := decoded[inspect.ArchiveDifference](t, w.looked(exitSomething, "archive", "diff", small, disk, "-o", "json").stdout); len(d.Added) == 0 {
		t.Errorf("%+v", d)
	}

	blob := mirrortest.Largest(have, second)
	w.site().Spoil("disk", blob)
	w.says(w.looked(exitMismatch, "archive", "extract", disk, "--to", w.path("damaged")).stderr, "not extracted", second, "repair-request")
	w.says(w.looked(exitMismatch, "archive", "repair-request", disk, "-o", w.path("request.json")).stderr, "gantry mirror --repair", "1 manifest or blob", "of sequence 1")
	if o := w.looked(exitMismatch, "archive", "repair-request", disk); o.stdout != w.read("request.json") {
		t.Errorf("stdout has\n%s", o.stdout)
	}
	w.must("mirror", "--repair", w.path("request.json"), fileScheme+w.path("repair"))
	w.says(w.looked(exitOK, "archive", "repair-request", disk, fileScheme+w.path("repair")).stderr, "damaged, but without loss of content", "nothing to request")
	w.says(w.looked(exitOK, "archive", "rebuild", disk, "--to", w.path("to")).stdout, "Rebuilt 1 volume", second)
	if got := decoded[rebuild.Result](t, w.looked(exitOK, "archive", "rebuild", disk, "--output", "json").stdout); len(got.Volumes) != 1 {
		t.Errorf("%+v", got)
	}
}

// refuseLook is refuse for verbs without a workspace. They print nothing to stdout.
func (w *fixture) refuseLook(code int, words []string, args ...string) outcome {
	w.t.Helper()
	o := w.looked(code, args...)
	w.says(o.stderr, words...)
	if o.stdout != "" {
		w.t.Errorf("gantry %s printed\n%s", strings.Join(args, " "), o.stdout)
	}
	return o
}
