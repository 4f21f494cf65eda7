package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/platform/graph"
	"github.com/gantry-mirror/gantry/pkg/platform/update"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
	"github.com/gantry-mirror/gantry/plan/cluster"
)

// web returns the files of a workspace for a web server, by path.
func (w *platformFixture) web(workspace string) map[string]string {
	w.t.Helper()
	dir := filepath.Join(w.path(workspace), "cluster-resources")
	files := map[string]string{}
	for _, pattern := range []string{"*/*", "*/*/*"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			w.t.Fatal(err)
		}
		for _, name := range found {
			if info, err := os.Stat(name); err != nil || info.IsDir() {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				w.t.Fatal(err)
			}
			rel, _ := filepath.Rel(dir, name)
			files[filepath.ToSlash(rel)] = string(text)
		}
	}
	return files
}

// drawn returns the updates of a graph as text.
func drawn(g *graph.Graph) (lines []string) {
	for i, n := range g.Nodes {
		for _, e := range g.From(i) {
			line := n.Version.String() + " -> " + g.Nodes[e.To].Version.String()
			for _, r := range g.Risks(e) {
				line += " " + r.Name
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// TestWebFiles serves the files next to the manifests and reads them like a cluster without an
// update service and without another signature store.
func TestWebFiles(t *testing.T) {
	t.Parallel()
	long(t)
	w := newSmallFixture(t)
	mirrored := func(workspace, graph string) *graph.Graph {
		t.Helper()
		cfg := w.config(workspace+".yaml", "  platform:\n"+graph+`    channels:
    - {name: fast-4.20, minVersion: 4.18.1, maxVersion: 4.19.1}
    - {name: eus-4.20, from: [4.18.2]}
`)
		w.must("mirror", "-c", cfg, w.docker("/"+workspace), "--workspace", w.path(workspace))
		return w.servedGraph(workspace, "fast-4.20")
	}
	// With graph data, the graph is the same as from an update service at the site: it includes all
	// releases in the mirror, also those from the other channel.
	site := mirrored("data", "    graph: true\n")
	if diff := cmp.Diff([]string{
		"4.18.1 -> 4.18.2", "4.18.1 -> 4.19.1 PausedPools", "4.18.1 -> 4.19.2", "4.18.2 -> 4.19.1 PausedPools", "4.18.2 -> 4.19.2",
		"4.19.1 -> 4.19.2", "4.19.2 -> 4.20.2",
	}, drawn(site)); diff != "" {
		t.Errorf("with graph data (-want +got):\n%s", diff)
	}
	for _, n := range site.Nodes {
		if want := w.payload(release.Name(n.Version.String(), release.DefaultArch)).Reference(); n.Payload != want {
			t.Errorf("%s is called %s, clusters know it as %s", n.Version, n.Payload, want)
		}
	}
	// Without graph data, the graph is as planned, with the upgrade path from the lowest version.
	if diff := cmp.Diff([]string{"4.18.1 -> 4.19.1 PausedPools"}, drawn(mirrored("hops", ""))); diff != "" {
		t.Errorf("without graph data (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"4.18.1 -> 4.19.2", "4.18.2 -> 4.19.2", "4.19.2 -> 4.20.2"}, drawn(w.servedGraph("hops", "eus-4.20"))); diff != "" {
		t.Errorf("without graph data, of the other channel (-want +got):\n%s", diff)
	}
	w.storesSignatures("data", "4.18.1-x86_64", "4.18.2-x86_64", "4.19.1-x86_64", "4.19.2-x86_64", "4.20.2-x86_64")

	// A second run writes the same bytes. When releases are no longer wanted and are pruned, the files
	// and their folders are removed.
	before := w.web("data")
	w.must("mirror", "-c", w.path("data.yaml"), w.docker("/data"), "--workspace", w.path("data"))
	if diff := cmp.Diff(before, w.web("data")); diff != "" {
		t.Errorf("the second run wrote different files (-first +second):\n%s", diff)
	}
	cfg := w.config("data.yaml", "  additionalImages: [{name: "+w.source.Host+"/quay.io/openshift-release-dev/ocp-release:4.18.1-x86_64}]\n")
	w.must("mirror", "-c", cfg, w.docker("/data"), "--workspace", w.path("data"))
	w.must("prune", w.docker("/data"), "--yes", "--workspace", w.path("data"))
	folders, err := filepath.Glob(filepath.Join(w.path("data"), "cluster-resources", "*", "*"))
	folders = slices.DeleteFunc(folders, func(path string) bool {
		return slices.Contains([]string{"components", "skeletons"}, filepath.Base(filepath.Dir(path)))
	})
	if err != nil || len(folders) > 0 {
		t.Errorf("there is still %v, %v", folders, err)
	}
	for _, name := range []string{cluster.GraphFolder, cluster.SignatureFolder} {
		if _, err := os.Stat(filepath.Join(w.path("data"), "cluster-resources", name)); !os.IsNotExist(err) {
			t.Errorf("the folder %s is still there: %v", name, err)
		}
	}
}

// servedGraph serves the graph of a channel from a web server and reads it like a client of update
// services.
func (w *platformFixture) servedGraph(workspace, channel string) *graph.Graph {
	w.t.Helper()
	text, ok := w.web(workspace)[cluster.GraphFolder+"/graph-"+channel+"-amd64.json"]
	if !ok {
		w.t.Fatalf("no graph of %s: there are %v", channel, sortedKeys(w.web(workspace)))
	}
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write([]byte(text))
	}))
	defer s.Close()
	service := &update.Service{URL: s.URL + "/graph.json", Get: w.webClient()}
	g, _, err := service.Graph(w.t.Context(), channel, release.DefaultArch)
	if err != nil {
		w.t.Fatal(err)
	}
	return g
}

// storesSignatures checks that the folder of signatures is a store with the signatures of exactly
// these releases.
func (w *platformFixture) storesSignatures(workspace string, names ...string) {
	w.t.Helper()
	keyring, err := gpg.ParseKeyring("release.asc", w.releases.Keys.OpenPGP)
	if err != nil {
		w.t.Fatal(err)
	}
	s := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(w.path(workspace), "cluster-resources"))))
	defer s.Close()
	for _, name := range names {
		if _, err := gpg.Collect(w.t.Context(), w.webClient(), []string{s.URL + "/" + cluster.SignatureFolder}, w.payload(name).Digest, []gpg.Keyring{keyring}, time.Now()); err != nil {
			w.t.Errorf("%s: %v", name, err)
		}
	}
	files := slices.DeleteFunc(sortedKeys(w.web(workspace)), func(name string) bool { return !strings.HasPrefix(name, cluster.SignatureFolder+"/") })
	if len(files) != len(names) {
		w.t.Errorf("there are signatures of %d releases, want %d: %v", len(files), len(names), files)
	}
}

// webClient returns a client for a web server on this machine.
func (w *platformFixture) webClient() *remote.Client {
	w.t.Helper()
	c, err := remote.New(remote.Options{Side: remote.Source})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.Close)
	return c
}

// TestUnreadableWebFiles makes the mirror unreadable after everything is copied, and checks that
// the manifests and signatures are still written and that the next run writes the graphs.
func TestUnreadableWebFiles(t *testing.T) {
	t.Parallel()
	long(t)
	w := newSmallFixture(t)
	cfg := w.config("unread.yaml", "  platform:\n    graph: true\n    channels: [{name: fast-4.20}]\n")
	args := []string{"mirror", "-c", cfg, w.docker("/unread"), "--workspace", w.path("unread")}
	w.mirror.Script(registrytest.Rule{Method: http.MethodGet, Path: "/release-images/manifests/", Action: registrytest.Refuse(http.StatusBadRequest, "UNSUPPORTED")})
	w.refuse(exitError, []string{"the manifests in ", " were written; making update graphs for a web server: "}, args...)
	if _, err := os.Stat(filepath.Join(w.path("unread"), "cluster-resources", "idms-release-0.yaml")); err != nil {
		t.Errorf("the manifests were not written: %v", err)
	}
	w.storesSignatures("unread", "4.20.2-x86_64")
	w.mirror.Script()
	w.must(args...)
	w.servedGraph("unread", "fast-4.20")
}
