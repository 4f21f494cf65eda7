package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A loss is one thing that a complete mirror loses.
type loss struct {
	name string
	lose func()
	// words are in the output of verify.
	words []string
	// byResources means that gantry cluster resources restores it.
	byResources bool
}

// del deletes a manifest, a tag or a blob of the mirror.
func (w *fixture) del(path string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodDelete, w.mirror.URL()+"/v2/"+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	_ = answer.Body.Close() // it was not read
	if answer.StatusCode != http.StatusAccepted {
		w.t.Fatalf("deleting %s: %s", path, answer.Status)
	}
}

// change replaces a text in a file.
func (w *fixture) change(file, old, with string) {
	w.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		w.t.Fatalf("%s has no %q:\n%s", file, old, text)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), old, with, 1)), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// planIn reads a plan file.
func (w *fixture) planIn(file string) *plan.Plan {
	w.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	p, err := plan.Read(strings.NewReader(string(text)))
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// findAndRepair checks that verify finds each loss and that one command repairs it, with requests for
// nothing else.
func (w *fixture) findAndRepair(lock string, losses []loss) {
	w.t.Helper()
	verify := []string{"verify", "--plan", lock, w.docker("")}
	w.must(append(verify, "--deep")...)
	for _, l := range losses {
		l.lose()
		o := w.gantry(verify...)
		for _, words := range l.words {
			if o.code != exitMismatch || !strings.Contains(o.stdout, words) {
				w.t.Errorf("%s: %d, no %q in\n%s%s", l.name, o.code, words, o.stdout, o.stderr)
			}
		}
		w.source.ResetLog()
		w.mirror.ResetLog()
		if l.byResources {
			w.must("resources", w.docker(""))
		} else {
			repaired := w.must("mirror", "--plan", lock, "--repair-missing", w.docker(""))
			if !strings.Contains(repaired.stdout, "Missing before the repair") {
				w.t.Errorf("%s:\n%s", l.name, repaired.stdout)
			}
			var sent []string
			for _, r := range w.mirror.Log() {
				own := strings.HasPrefix(r.Repository(), "gantry/") || strings.Contains(r.Repository(), "/gantry/") // leases and records
				if !own && (r.Kind() == "POST upload" || r.Kind() == "PUT manifest") {
					sent = append(sent, r.Method+" "+r.Path)
				}
			}
			if len(sent) != 1 {
				w.t.Errorf("%s: %d manifests and blobs were sent, want 1:\n%s", l.name, len(sent), strings.Join(sent, "\n"))
			}
		}
		w.must(append(verify, "--deep")...)
	}
}

func TestVerifyFindsEachLossOfARelease(t *testing.T) {
	t.Parallel()
	long(t)
	w := newSmallFixture(t)
	lock := w.path("plan.json")
	w.must("plan", "-c", w.config("imageset.yaml", provenPlatform), "-o", lock)
	w.must("mirror", "--plan", lock, w.docker(""))
	p := w.planIn(lock)
	release := p.Releases[0]
	component := ""
	var source string
	for _, img := range p.Images {
		if img.Kind == plan.ComponentImage {
			component, source = img.Repository+"/manifests/"+img.Digest.String(), img.Source
		}
	}
	changes := func(pattern, old, with string) func() {
		return func() {
			found, err := filepath.Glob(w.path("workspace/" + pattern))
			if err != nil || len(found) == 0 {
				t.Fatalf("%s: %v", pattern, err)
			}
			w.change(found[0], old, with)
		}
	}
	signatures := filepath.Join(w.path("workspace/cluster-resources"), "signature-sha256-"+release.Digest.Encoded()[:16]+".json")
	w.findAndRepair(lock, []loss{
		{name: "a component", lose: func() { w.del(component) }, words: []string{source, "needed by release"}},
		{name: "a release", lose: func() { w.del(release.Repository + "/manifests/" + release.Digest.String()) }, words: []string{release.Source, "the mirror does not have the release image that it has signatures of"}},
		{name: "graph data", lose: func() { w.del(p.GraphData.Repository + "/manifests/" + p.GraphData.Digest.String()) }, words: []string{"the mirror does not have this graph data", "UpdateService"}},
		{name: "signatures", lose: func() {
			if err := os.Remove(signatures); err != nil {
				t.Error(err)
			}
		}, words: []string{"no ConfigMap has a signature of " + release.Digest.String()}, byResources: true},
		{name: "a changed file for installers", lose: changes("install/cluster-image-sets/*.yaml", release.Digest.String(), digest.FromString("another").String()),
			words: []string{"install/cluster-image-sets/", "the file was changed since Gantry wrote it", "the mirror does not have this image"}, byResources: true},
		{name: "a repository for installers", lose: changes("install/install-config.yaml", "/openshift/release\n", "/openshift/other\n"),
			words: []string{"install/install-config.yaml", "the file was changed since Gantry wrote it", "has no repository there"}, byResources: true},
		{name: "a changed file for hosts", lose: changes("hosts/containers/registries.conf.d/*.conf", "[[registry]]", "# changed\n[[registry]]"),
			words: []string{"hosts/containers/", "the file was changed since Gantry wrote it"}, byResources: true},
	})
}
