package main

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

// TestBadInput checks that wrong input is refused and the mirror is not changed. TestScripts/wrong has more.
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
		{"a misspelled flag", exitUsage, []string{"unknown flag: --worspace; did you mean \"--workspace\"?; run gantry mirror --help"}, []string{"mirror", "--worspace", "ws", "-c", isc, w.docker("")}},
		{"a destination without registry", exitUsage, []string{"docker://"}, []string{"mirror", "-c", isc, "docker:///ocp"}},
		{"no such plan", exitUsage, []string{"absent.json"}, []string{"mirror", "--plan", w.path("absent.json"), w.docker("")}},
		{"an invalid plan", exitUsage, []string{"gantry plan"}, []string{"mirror", "--plan", w.write("other.json", `{"kind":"List"}`), w.docker("")}},
		{"no archive", exitUsage, []string{"--from"}, []string{"mirror", "--from", "file://" + w.path("nothing"), w.docker("")}},
		{"contradicting flags", exitUsage, []string{"--plan"}, []string{"mirror", "--plan", "p", "-c", isc, w.docker("")}},
		{"a misspelt field", exitUsage, []string{"typo.yaml:6", `"chanels"`, `"channels"`},
			[]string{"plan", "-c", w.config("typo.yaml", catalog+"    packages: [{name: lantern, chanels: []}]\n")}},
		{"a misspelt channel", exitUsage, []string{"channel.yaml:6", "stable-22", `"stable-2"`},
			[]string{"plan", "-c", w.config("channel.yaml", catalog+"    packages: [{name: tidewater, channels: [{name: stable-22}]}]\n")}},
		{"an unreachable update service", exitError, []string{"platform.yaml:4", "stable-4.18", closed, "connection refused"},
			[]string{"plan", "-c", w.config("platform.yaml", "  platform: {updateService: 'http://"+closed+"/v1/graph', channels: [{name: stable-4.18}]}\n"+catalog), "--retry-times", "0"}},
		{"a file to read and to write", exitUsage, []string{"--failures would replace the file that --config reads"}, []string{"mirror", "-c", isc, "--failures", w.path(".") + "/imageset.yaml", w.docker("")}},
		{"an unreachable mirror", exitError, []string{closed, "connection refused"}, []string{"mirror", "-c", isc, "docker://" + closed, "--retry-times", "0"}},
		{"an unreachable source", exitError, []string{closed, "connection refused"},
			[]string{"plan", "-c", w.config("unreachable.yaml", "  operators: [{catalog: '"+closed+"/a/b:v1'}]\n"), "--retry-times", "0"}},
		{"an invalid number of parallel images", exitUsage, []string{"--parallel-images"}, []string{"mirror", "-c", isc, w.docker(""), "--parallel-images", "0"}},
	} {
		w.refuse(tc.code, tc.words, tc.args...)
	}
	for _, r := range w.mirror.Log() {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			t.Errorf("the mirror was changed: %s %s", r.Method, r.Path)
		}
	}
}

// closedPort returns an address on which no server listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fail.On(t, err)
	defer l.Close()
	return l.Addr().String()
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

// TestLocked checks the exit status if another run uses the workspace or the layout.
func TestLocked(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	store := w.config("store.yaml", storeOnly)
	l, err := layout.Create(w.path("layout"), layout.Options{})
	fail.On(t, err)
	lock, err := l.Lock()
	fail.On(t, err)
	w.refuse(exitLocked, []string{"is locked by process"}, "mirror", "-c", store, "oci://"+w.path("layout"))
	fail.On(t, lock.Release())
	w.must("mirror", "-c", store, "oci://"+w.path("layout"))
	session, err := workspace.OpenSession(w.site().NewEnv(), w.path("workspace"))
	fail.On(t, err)
	w.refuse(exitLocked, []string{"process", "another folder"}, "plan", "-c", store)
	fail.On(t, session.Close())
	w.must("plan", "-c", store)
}
