package main

import (
	"bytes"
	"errors"
	"net/http"
	"os/exec"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// twoReleases selects 4.19.2 and 4.20.2 for amd64.
const twoReleases = `  platform:
    kubeVirtContainer: true
    channels:
    - {name: fast-4.20}
    - {name: stable-4.20, minVersion: 4.19.2, maxVersion: 4.19.2}
`

// withheld checks that the outcome reports the first release as withheld and that the mirror has
// the other one. A release gets the tag that update services look for only after all its content is
// copied.
func (w *platformFixture) withheld(o outcome, prefix, workspace, held, other string, words ...string) {
	w.t.Helper()
	w.ended(o, exitPartial, append(words, held, "withheld")...)
	tags := w.stores(prefix)[releaseRepository].Tags
	if _, ok := tags[held]; ok {
		w.t.Errorf("%s is in the mirror, but incomplete", held)
	}
	if tags[other] != w.payload(other).Digest {
		w.t.Errorf("%s is not in the mirror", other)
	}
	w.attested(workspace, other)
}

// TestReleaseWithheld checks that a release is withheld while one of its images is unavailable, and
// copied when it is available again.
func TestReleaseWithheld(t *testing.T) {
	t.Parallel()
	long(t)
	w := newSmallFixture(t)
	isc := w.config("imageset.yaml", twoReleases)
	const held, other = "4.20.2-x86_64", "4.19.2-x86_64"
	p := w.payload(held)
	part := p.Images["rhel-coreos"]
	gone := rt.Rule{Path: part.String(), Action: rt.Status(http.StatusNotFound)}
	wrong, err := p.WrongBytes("rhel-coreos")
	if err != nil {
		t.Fatal(err)
	}
	refused := rt.Rule{Method: http.MethodPut, Path: "/manifests/" + part.String(), Action: rt.Status(http.StatusBadRequest)}
	for _, tc := range []struct {
		name           string
		source, mirror []rt.Rule
	}{
		{name: "missing", source: []rt.Rule{gone}},
		{name: "spoilt", source: []rt.Rule{wrong}},
		{name: "refused", mirror: []rt.Rule{refused, {Method: http.MethodPut, Path: "/manifests/" + held + "-rhel-coreos", Action: rt.Status(http.StatusBadRequest)}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := w.in(t)
			w.source.Script(tc.source...)
			w.mirror.Script(tc.mirror...)
			args := []string{"mirror", "-c", isc, w.docker("/" + tc.name), "--workspace", w.path(tc.name)}
			w.withheld(w.impatiently(30*time.Second, args...), tc.name, tc.name, held, other, part.String())
			w.source.Script()
			w.mirror.Script()
			w.must(args...)
			w.holds(tc.name, held, other)
			w.attested(tc.name, held, other)
		})
	}

	w.source.Script(gone)
	// --on-error stop ends the run, and package cannot exclude anything from a release.
	o := w.gantry("mirror", "-c", isc, w.docker("/stop"), "--workspace", w.path("stop"), "--on-error", "stop")
	w.ended(o, exitError, part.String())
	if tags := w.stores("stop")[releaseRepository].Tags; tags[held] != "" {
		t.Errorf("%s is in the mirror", held)
	}
	if files := w.manifests("stop"); len(files) > 0 {
		t.Errorf("there are cluster resources: %v", sortedKeys(files))
	}
	o = w.gantry("mirror", "-c", isc, w.docker("/package"), "--workspace", w.path("package"), "--on-error", "package")
	w.withheld(o, "package", "package", held, other, part.String())

	// An archive without the image stays unfinished.
	disk := fileScheme + w.path("disk")
	o = w.gantry("mirror", "-c", isc, disk, "--workspace", w.path("carry"))
	w.ended(o, exitPartial, part.String())
	w.source.Script()
	w.must("mirror", "-c", isc, disk, "--workspace", w.path("carry"))
	w.must("mirror", "--from", disk, w.docker("/carried"), "--workspace", w.path("far"))
	w.holds("carried", held, other)
}

// TestReleaseStaysWhenTheNextFails checks that a mirror keeps a release, with its tag, signatures
// and mirror sets, when a later release cannot be copied.
func TestReleaseStaysWhenTheNextFails(t *testing.T) {
	t.Parallel()
	long(t)
	w := newSmallFixture(t)
	stanza := func(to string) string {
		return "  platform:\n    kubeVirtContainer: true\n    channels: [{name: fast-4.20, minVersion: 4.20.1, maxVersion: " + to + "}]\n"
	}
	const old, next = "4.20.1-x86_64", "4.20.2-x86_64"
	w.must("mirror", "-c", w.config("imageset.yaml", stanza("4.20.1")), w.docker("/ocp"))
	before := w.manifests("workspace")
	w.source.Script(rt.Rule{Path: w.payload(next).Images["rhel-coreos"].String(), Action: rt.Status(http.StatusNotFound)})
	isc := w.config("imageset.yaml", stanza("4.20.2"))
	w.withheld(w.gantry("mirror", "-c", isc, w.docker("/ocp"), "--workspace", w.path("workspace")), "ocp", "workspace", next, old)
	if after := w.manifests("workspace"); after["idms-release-0.yaml"] != before["idms-release-0.yaml"] {
		t.Errorf("the mirror sets were\n%s\nand are\n%s", before["idms-release-0.yaml"], after["idms-release-0.yaml"])
	}
	w.source.Script()
	w.must("mirror", "-c", isc, w.docker("/ocp"))
	w.holds("ocp", old, next)
	w.attested("workspace", old, next)
}

// TestReleaseInterrupted checks that a run can be continued after it was interrupted while copying
// a release, by Ctrl-C, by a kill, or because the mirror failed.
func TestReleaseInterrupted(t *testing.T) {
	t.Parallel()
	w := newSmallFixture(t)
	isc := w.config("imageset.yaml", headOf420)
	const name = "4.20.2-x86_64"
	stuck := rt.Rule{Method: http.MethodPut, Path: "/" + componentRepository + "/manifests/", Nth: 3, Action: rt.NoResponse()}
	for way, end := range map[string]func(*exec.Cmd) error{
		"ctrl-c": func(cmd *exec.Cmd) error { return cmd.Process.Signal(syscall.SIGINT) },
		"killed": func(cmd *exec.Cmd) error { return cmd.Process.Kill() },
	} {
		t.Run(way, func(t *testing.T) {
			w := w.in(t)
			w.mirror.ResetLog()
			w.mirror.Script(stuck)
			args := []string{"mirror", "-c", isc, w.docker("/" + way), "--workspace", w.path(way)}
			cmd, stderr := w.process(t.Context(), args...), &bytes.Buffer{}
			cmd.Stderr = stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			w.until(func(r rt.Request) bool { return r.Kind() == "PUT manifest" && r.Faulted })
			if err := end(cmd); err != nil {
				t.Fatal(err)
			}
			err := cmd.Wait()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || way == "ctrl-c" && exit.ExitCode() != exitInterrupted {
				t.Fatalf("%v, want %d\n%s", err, exitInterrupted, stderr.String())
			}
			if tags := w.stores(way)[releaseRepository].Tags; tags[name] != "" {
				t.Error("the release is in the mirror, but incomplete")
			}
			w.mirror.Script()
			w.must(args...)
			w.holds(way, name)
			w.attested(way, name)
		})
	}
	t.Run("mirror dies", func(t *testing.T) {
		w := w.in(t)
		var asked atomic.Int64
		w.mirror.Script(rt.Rule{Action: func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
			if asked.Add(1) > 40 {
				rt.Reset()(rw, r, next)
				return
			}
			next.ServeHTTP(rw, r)
		}})
		args := []string{"mirror", "-c", isc, w.docker("/dies"), "--workspace", w.path("dies")}
		w.ended(w.impatiently(30*time.Second, args...), exitError, w.mirror.Host)
		if tags := w.stores("dies")[releaseRepository].Tags; tags[name] != "" {
			t.Error("the release is in the mirror, but incomplete")
		}
		w.mirror.Script()
		w.must(args...)
		w.holds("dies", name)
	})
}

// until waits for a matching request to the mirror.
func (w *platformFixture) until(is func(rt.Request) bool) {
	w.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !slices.ContainsFunc(w.mirror.Log(), is) {
		select {
		case <-tick.C:
		case <-w.t.Context().Done():
			w.t.Fatal("the mirror got no matching request")
		}
	}
}
