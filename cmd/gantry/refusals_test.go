package main

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

// TestBadInput checks that wrong input is refused and the mirror is not changed.
func TestBadInput(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	isc := w.path("imageset.yaml")
	catalog := "  operators:\n  - catalog: registry.example.com/acme/operator-index:v4.20\n"
	closed := closedPort(t)
	w.mirror.ResetLog()
	for _, tc := range []struct {
		name  string
		code  int
		words []string
		args  []string
	}{
		{"an unknown flag", exitUsage, []string{"--destt", "--help"}, []string{"mirror", "--destt", "-c", isc, w.docker("")}},
		{"a misspelled flag", exitUsage, []string{"unknown flag: --worspace; did you mean \"--workspace\"?; run gantry mirror --help"}, []string{"mirror", "--worspace", "ws", "-c", isc, w.docker("")}},
		{"no destination", exitUsage, []string{"no destination", "docker://"}, []string{"mirror", "-c", isc}},
		{"no source", exitUsage, []string{"--config", "--plan", "--from"}, []string{"mirror", w.docker("")}},
		{"an unknown scheme", exitUsage, []string{"http://x", "docker://"}, []string{"mirror", "-c", isc, "http://x"}},
		{"a destination without registry", exitUsage, []string{"docker://"}, []string{"mirror", "-c", isc, "docker:///ocp"}},
		{"no such configuration", exitUsage, []string{"absent.yaml", "no such file"}, []string{"plan", "-c", w.path("absent.yaml")}},
		{"no such plan", exitUsage, []string{"absent.json"}, []string{"mirror", "--plan", w.path("absent.json"), w.docker("")}},
		{"an invalid plan", exitUsage, []string{"gantry plan"}, []string{"mirror", "--plan", w.write("other.json", `{"kind":"List"}`), w.docker("")}},
		{"no archive", exitUsage, []string{"--from"}, []string{"mirror", "--from", "file://" + w.path("nothing"), w.docker("")}},
		{"contradicting flags", exitUsage, []string{"--plan"}, []string{"mirror", "--plan", "p", "-c", isc, w.docker("")}},
		{"a misspelt field", exitUsage, []string{"typo.yaml:6", `"chanels"`, `"channels"`},
			[]string{"plan", "-c", w.config("typo.yaml", catalog+"    packages: [{name: lantern, chanels: []}]\n")}},
		{"a misspelt package", exitUsage, []string{"package.yaml:6", "lanterm", `"lantern"`},
			[]string{"plan", "-c", w.config("package.yaml", catalog+"    packages: [{name: lanterm}]\n")}},
		{"a misspelt channel", exitUsage, []string{"channel.yaml:6", "stable-22", `"stable-2"`},
			[]string{"plan", "-c", w.config("channel.yaml", catalog+"    packages: [{name: tidewater, channels: [{name: stable-22}]}]\n")}},
		{"a version that does not exist", exitUsage, []string{"version.yaml:6", "9.9.9"},
			[]string{"plan", "-c", w.config("version.yaml", catalog+"    packages: [{name: tidewater, minVersion: 9.9.9}]\n")}},
		{"an unreachable update service", exitError, []string{"platform.yaml:4", "stable-4.18", closed, "connection refused"},
			[]string{"plan", "-c", w.config("platform.yaml", "  platform: {updateService: 'http://"+closed+"/v1/graph', channels: [{name: stable-4.18}]}\n"+catalog), "--retry-times", "0"}},
		{"no such catalog", exitError, []string{"acme/no-index:v1", "404"},
			[]string{"plan", "-c", w.config("nocat.yaml", "  operators: [{catalog: 'registry.example.com/acme/no-index:v1'}]\n")}},
		{"an image that is not a catalog", exitError, []string{"netcheck", "catalog"},
			[]string{"plan", "-c", w.config("nocatalog.yaml", "  operators: [{catalog: 'images.example.net/tools/netcheck:1.4'}]\n")}},
		{"an unreachable mirror", exitError, []string{closed, "connection refused"},
			[]string{"mirror", "-c", isc, "docker://" + closed, "--retry-times", "0"}},
		{"an unreachable source", exitError, []string{closed, "connection refused"},
			[]string{"plan", "-c", w.config("unreachable.yaml", "  operators: [{catalog: '"+closed+"/a/b:v1'}]\n"), "--retry-times", "0"}},
		{"an invalid number of parallel images", exitUsage, []string{"--parallel-images"}, []string{"mirror", "-c", isc, w.docker(""), "--parallel-images", "0"}},
		{"an unknown output format", exitUsage, []string{"--output"}, []string{"mirror", "-c", isc, w.docker(""), "--output", "xml"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := *w
			w.t = t
			w.refuse(tc.code, tc.words, tc.args...)
		})
	}
	for _, r := range w.mirror.Log() {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			t.Errorf("the mirror was changed: %s %s", r.Method, r.Path)
		}
	}
}

func TestErrorsAsJSON(t *testing.T) {
	t.Parallel()
	w := &fixture{t: t, dir: t.TempDir()}
	o := w.gantry("plan", "-c", w.path("absent.yaml"), "--output", "json")
	if o.code != exitUsage || !strings.HasPrefix(o.stderr, `{"error":{"code":10,`) || o.stdout != "" {
		t.Errorf("%d\n%s%s", o.code, o.stdout, o.stderr)
	}
}

// TestBadInputWritesNothing checks that errors in flags and files are found before a folder is
// created.
func TestBadInputWritesNothing(t *testing.T) {
	t.Parallel()
	w := &fixture{t: t, dir: t.TempDir()}
	isc := w.config("imageset.yaml", "  additionalImages: [{name: 'quay.io/a/b:v1'}]\n")
	for _, args := range [][]string{
		{"plan"},
		{"plan", "-c", w.path("absent.yaml")},
		{"plan", "-c", isc, "http://x"},
		{"mirror", "-c", w.config("bad.yaml", "  images: []\n"), "docker://localhost"},
		{"mirror", "-c", isc, "docker://localhost/A"},
		{"mirror", "-c", isc, "docker://localhost", "--parallel-layers", "0"},
		{"mirror", "--from", "file://" + w.path("nothing"), "docker://localhost"},
		{"verify", "-c", w.path("absent.yaml"), "docker://localhost"},
	} {
		if o := w.gantry(args...); o.code != exitUsage {
			t.Errorf("gantry %v ended with %d:\n%s", args, o.code, o.stderr)
		}
		if _, err := os.Stat(w.path("workspace")); err == nil {
			t.Fatalf("gantry %v made a workspace", args)
		}
	}
}

// closedPort returns an address on which no server listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestMissingImage(t *testing.T) {
	t.Parallel()
	long(t) // TestScripts/missing mirrors to a registry, TestArchiveWithMissingImages to a disk
	w := newFixture(t, registrytest.Options{})
	isc := w.path("imageset.yaml")
	w.source.Script(registrytest.Rule{Path: "/lantern/store/manifests/", Action: registrytest.Status(404)})
	disk := "file://" + w.path("disk")
	for _, args := range [][]string{{"-c", isc, w.docker("/direct")}, {"-c", isc, disk}, {"--from", disk, w.docker("/carried")}} {
		o := w.gantry(append([]string{"mirror"}, args...)...)
		if o.code != exitPartial || !strings.Contains(o.stderr, "not mirrored: images.example.net/lantern/store") {
			t.Errorf("mirror %v ended with %d, want %d and the image named:\n%s", args, o.code, exitPartial, o.stderr)
		}
	}
	for _, prefix := range []string{"direct", "carried"} {
		w.verify(prefix, community, 5) // the other catalog is complete
		if _, err := w.mirror.Client().Pull(t.Context(), prefix+"/"+acme, "v4.20"); err == nil {
			t.Errorf("%s: the catalog that names the missing image was published", prefix)
		}
	}
	// The user blocks the image because it is not needed.
	text, err := os.ReadFile(isc)
	if err != nil {
		t.Fatal(err)
	}
	blocked := w.write("blocked.yaml", string(text)+"  blockedImages:\n  - name: lantern/store\n")
	w.must("mirror", "-c", blocked, w.docker("/direct"))
	if _, err := w.mirror.Client().Pull(t.Context(), "direct/"+acme, "v4.20"); err != nil {
		t.Errorf("with the image blocked: %v", err)
	}
	w.source.Script()
	w.must("mirror", "-c", isc, w.docker("/direct"))
	w.verify("direct", acme, 4)

	// The image disappears from the source again, but the mirror has it.
	w.source.Script(registrytest.Rule{Path: "/lantern/store/", Action: registrytest.Status(404)})
	if o := w.must("mirror", "-c", isc, w.docker("/direct")); !strings.Contains(o.stdout, "Nothing to copy") {
		t.Errorf("with everything in the mirror:\n%s", o.stdout)
	}
}

// TestFailureIsReportedOnce checks that a failure to copy is reported only once.
func TestFailureIsReportedOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	isc := w.config("store.yaml", "  additionalImages: [{name: 'images.example.net/lantern/store:1.2'}]\n")
	w.source.Script(registrytest.Rule{Path: "/lantern/store/blobs/", Action: registrytest.Status(404)})
	o := w.gantry("mirror", "-c", isc, w.docker("/once"))
	if o.code != exitPartial || o.stdout != "Nothing was mirrored to "+w.docker("/once")+".\n" {
		t.Errorf("ended with %d:\n%s", o.code, o.stdout)
	}
	lines := strings.Split(o.stderr, "\n")
	if len(lines) != 6 || lines[1] != "not mirrored: images.example.net/lantern/store:1.2" || !strings.HasPrefix(lines[2], "    reading the blob sha256:") ||
		strings.Count(o.stderr, "sha256:") != 1 || !strings.HasPrefix(lines[3], "took ") || !strings.HasPrefix(lines[4], "gantry: 1 image is not mirrored") {
		t.Errorf("stderr:\n%s", o.stderr)
	}
}

func TestDamagedArchive(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	w.must("mirror", "-c", w.path("imageset.yaml"), "file://"+w.path("disk"))
	volumes, err := filepath.Glob(w.path("disk/*.tar"))
	if err != nil || len(volumes) != 1 {
		t.Fatalf("volumes: %v, %v", volumes, err)
	}
	volume := volumes[0]
	whole, err := os.ReadFile(volume)
	if err != nil {
		t.Fatal(err)
	}
	altered := slices.Clone(whole)
	for at := len(altered) / 4; at < len(altered); at += len(altered) / 4 { // in the large blobs
		altered[at] ^= 1
	}
	for _, tc := range []struct {
		name   string
		damage func() error
		codes  []int
	}{
		{"missing", func() error { return os.Remove(volume) }, []int{exitMismatch}},
		{"truncated", func() error { return os.WriteFile(volume, whole[:len(whole)-1000], 0o600) }, []int{exitMismatch}},
		{"altered", func() error { return os.WriteFile(volume, altered, 0o600) }, []int{exitMismatch}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := tc.damage(); err != nil {
				t.Fatal(err)
			}
			o := w.gantry("mirror", "--from", "file://"+w.path("disk"), w.docker("/"+tc.name))
			if !slices.Contains(tc.codes, o.code) || !strings.Contains(o.stderr, filepath.Base(volume)) {
				t.Errorf("ended with %d, want one of %v and the volume named:\n%s", o.code, tc.codes, o.stderr)
			}
			// After the volume is copied again, the same command succeeds.
			if err := os.WriteFile(volume, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			w.must("mirror", "--from", "file://"+w.path("disk"), w.docker("/"+tc.name))
			w.verify(tc.name, acme, 4)
		})
	}
}

func TestLockedWorkspace(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	a := &app{env: w.env}
	if err := a.openLog(); err == nil {
		t.Fatal("an app without flags is not ready to run")
	}
	a = &app{env: w.env, output: outputText, logLevel: "error", logFormat: outputText}
	if err := a.openLog(); err != nil {
		t.Fatal(err)
	}
	s, err := workspace.OpenSession(a.environment(&registryFlags{Registries: env.Registries{ParallelImages: 1, ParallelLayers: 1}}), w.path("workspace"))
	if err != nil {
		t.Fatal(err)
	}
	w.refuse(exitLocked, []string{"process", "another folder"}, "plan", "-c", w.path("imageset.yaml"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	w.must("plan", "-c", w.path("imageset.yaml"))
}

// TestLockedLayout checks that a run is refused while another run has locked the layout.
func TestLockedLayout(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	isc := w.config("store.yaml", "  additionalImages: [{name: 'images.example.net/lantern/store:1.2'}]\n")
	l, err := layout.Create(w.path("layout"), layout.Options{})
	if err != nil {
		t.Fatal(err)
	}
	lock, err := l.Lock()
	if err != nil {
		t.Fatal(err)
	}
	if o := w.gantry("mirror", "-c", isc, "oci://"+w.path("layout")); o.code != exitLocked || !strings.Contains(o.stderr, "is locked by process") {
		t.Errorf("ended with %d:\n%s", o.code, o.stderr)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	w.must("mirror", "-c", isc, "oci://"+w.path("layout"))
}

// TestInterrupted interrupts the real program with the signal of Ctrl-C during the download of a
// blob, for a mirror and for an archive, and runs it again.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	long(t) // TestHangup and TestReleaseInterrupted interrupt runs, TestKilledWritingAnArchive one to a disk
	w := newFixture(t, registrytest.Options{})
	isc, disk := w.path("imageset.yaml"), "file://"+w.path("disk")
	for _, args := range [][]string{{"-c", isc, w.docker("/direct")}, {"-c", isc, disk}} {
		w.source.Script(registrytest.Rule{Method: "GET", Path: "/lantern/store/blobs/", Action: registrytest.Stall(10)})
		w.source.ResetLog()
		var stderr bytes.Buffer
		cmd := w.process(t.Context(), append([]string{"mirror", "--workspace", w.path("workspace")}, args...)...)
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.waitFor("/lantern/store/blobs/")
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		err := cmd.Wait()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted || !strings.Contains(stderr.String(), "run the same command again") {
			t.Fatalf("mirror %v: %v, want %d\n%s", args, err, exitInterrupted, stderr.String())
		}
		if sets, _ := filepath.Glob(w.path("disk/gantry-*")); len(sets) > 0 {
			t.Errorf("an unfinished archive has final names: %v", sets)
		}
		w.source.Script()
		w.must(append([]string{"mirror"}, args...)...)
	}
	w.verify("direct", acme, 4)
	w.must("mirror", "--from", disk, w.docker("/carried"))
	w.verify("carried", acme, 4)
}
