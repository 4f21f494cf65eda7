package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// leaves checks that a run excludes package lantern and reports it.
func (w *fixture) leaves(args ...string) {
	w.t.Helper()
	o := w.gantry(append([]string{"mirror", "--on-error", "package"}, args...)...)
	if o.code != exitPartial {
		w.t.Fatalf("mirror %v ended with %d, want %d:\n%s%s", args, o.code, exitPartial, o.stdout, o.stderr)
	}
	for _, words := range []string{"not mirrored: images.example.net/lantern/store", "excluded: package lantern of catalog registry.example.com/acme/operator-index:v4.20", "1 package is excluded"} {
		if strings.Count(o.stderr, words) != 1 {
			w.t.Errorf("stderr does not contain %q once:\n%s", words, o.stderr)
		}
	}
	if strings.Contains(o.stderr, "withheld") {
		w.t.Errorf("%s%s", o.stdout, o.stderr)
	}
}

// TestOnErrorCommand checks the text and the exit status of --on-error and of --blobs. Package mirroring tests what is
// mirrored.
func TestOnErrorCommand(t *testing.T) {
	t.Parallel()
	w := newFixture(t, rt.Options{})
	isc, to := w.path("imageset.yaml"), w.docker("/ocp")
	w.source.Script(rt.Rule{Method: http.MethodGet, Path: "/lantern/store/blobs/", Action: rt.Status(http.StatusNotFound)})
	o := w.gantry("mirror", "--on-error", "stop", "-c", isc, to)
	if o.code != exitError || o.stdout != "" {
		t.Errorf("--on-error stop ended with %d:\n%s", o.code, o.stdout)
	}
	w.says(o.stderr, "not mirrored: images.example.net/lantern/store", "stopped because images.example.net/lantern/store")
	w.leaves("-c", isc, to)
	w.source.Script(rt.Rule{Path: "/lantern/store/", Action: rt.Status(http.StatusNotFound)})
	if o := w.gantry("mirror", "--on-error", "package", "--dry-run", "-c", isc, to, "--workspace", w.path("new")); o.code != exitPartial || !strings.Contains(o.stdout, "package lantern is excluded") {
		t.Errorf("--dry-run ended with %d:\n%s%s", o.code, o.stdout, o.stderr)
	}
	o = w.gantry("mirror", "--on-error", "package", "--output", "json", "-c", isc, to, "--workspace", w.path("new"))
	var result struct {
		Report struct {
			Failed  []struct{ Source, Reason string }
			LeftOut []struct{ Catalog, Package string }
			Held    []any
		}
	}
	if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || o.code != exitPartial {
		t.Fatalf("%d, %v", o.code, err)
	}
	if r := result.Report; len(r.Failed) != 1 || len(r.LeftOut) != 1 || r.LeftOut[0].Package != "lantern" || len(r.Held) != 0 {
		t.Errorf("%+v", r)
	}

	w.source.Script()
	w.must("mirror", "-c", isc, to)
	verified := w.must("verify", "-c", isc, "--blobs", to)
	w.says(verified.stdout, ", with every blob; the blobs were not read (--blobs=read).")
	w.says(verified.stderr, " blobs at ")
	w.mirror.Script(rt.Rule{Method: http.MethodHead, Path: "/lantern/store/blobs/", Action: rt.Status(http.StatusNotFound)})
	w.refuse(exitMismatch, []string{"mirror again with --blobs=check"}, "verify", "-c", isc, "--blobs", to)
	w.refuse(exitPartial, []string{" and kept its own copy, which is missing", "/data), restart the registry, and run again with --blobs=check"}, "mirror", "-c", isc, "--check-blobs", to)
	for words, args := range map[string][]string{
		"stop or continue or package":     {"mirror", "--on-error", "ignore", "-c", isc, to},
		"--blobs=read is for docker://":   {"mirror", "-c", isc, "--read-blobs", "file://" + w.path("disk")},
		"--blobs=check is for docker://":  {"mirror", "-c", isc, "--check-blobs", "file://" + w.path("disk")},
		"--blobs=repair is for docker://": {"mirror", "-c", isc, "--repair-missing", "file://" + w.path("disk")},
	} {
		w.refuse(exitUsage, []string{words}, args...)
	}
	w.refuse(exitUsage, []string{"--blobs=read is for docker://"}, "verify", "--read-blobs", "file://"+w.path("disk"))
	w.refuse(exitUsage, []string{"--blobs is for docker://"}, "verify", "--blobs", "file://"+w.path("disk"))
}
