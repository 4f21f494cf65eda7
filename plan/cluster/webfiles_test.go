package cluster_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/update"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
	"github.com/gantry-mirror/gantry/plan/cluster"
)

// webClient returns a client for a web server that serves the cluster resources of the workspace.
func webClient(p *mirrortest.Platform) (*remote.Client, string) {
	p.T.Helper()
	client, err := remote.New(remote.Options{Side: remote.Source})
	fail.On(p.T, err)
	p.T.Cleanup(client.Close)
	s := httptest.NewServer(http.FileServer(http.Dir(p.Path("workspace/cluster-resources"))))
	p.T.Cleanup(s.Close)
	return client, s.URL + "/"
}

// updates returns the updates of a channel as a client of update services reads them, and checks what the releases are called.
func updates(p *mirrortest.Platform, channel string) (lines []string) {
	p.T.Helper()
	client, url := webClient(p)
	service := &update.Service{URL: url + cluster.GraphFolder + "/graph-" + channel + "-amd64.json", Get: client}
	g, _, err := service.Graph(p.T.Context(), channel, release.DefaultArch)
	fail.On(p.T, err)
	for i, n := range g.Nodes {
		if want := p.Payload(release.Name(n.Version.String(), release.DefaultArch)).Reference(); n.Payload != want {
			p.T.Errorf("%s is called %s, clusters know it as %s", n.Version, n.Payload, want)
		}
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

// hasSignatures checks that the folder of signatures is a store with the signatures of exactly these releases.
func hasSignatures(p *mirrortest.Platform, names ...string) {
	p.T.Helper()
	keyring, err := gpg.ParseKeyring("release.asc", p.Releases.Keys.OpenPGP)
	fail.On(p.T, err)
	client, url := webClient(p)
	for _, name := range names {
		if _, err := gpg.Collect(p.T.Context(), client, []string{url + cluster.SignatureFolder}, p.Payload(name).Digest, []gpg.Keyring{keyring}, time.Now()); err != nil {
			p.T.Errorf("%s: %v", name, err)
		}
	}
	n := 0
	for name := range (&mirrored{Site: p.Site}).written() {
		if strings.HasPrefix(name, "cluster-resources/"+cluster.SignatureFolder+"/") {
			n++
		}
	}
	if n != len(names) {
		p.T.Errorf("there are signatures of %d releases, want %d", n, len(names))
	}
}

const twoChannels = "    channels:\n    - {name: fast-4.20, minVersion: 4.18.1, maxVersion: 4.19.1}\n    - {name: eus-4.20, from: [4.18.2]}\n"

// TestWebFiles reads the update graphs and signatures for a web server. They stay the same, and go with the releases. If the
// mirror cannot be read after everything was copied, the next run writes the graphs.
func TestWebFiles(t *testing.T) {
	t.Parallel()
	p := mirrortest.SmallPlatform(t)
	config := p.Config("releases.yaml", "  platform:\n    graph: true\n"+twoChannels)
	p.Mirror.Script(registrytest.Rule{Method: http.MethodGet, Path: "/release-images/manifests/", Action: registrytest.Refuse(http.StatusBadRequest, "UNSUPPORTED")})
	releases := []string{"4.18.1-x86_64", "4.18.2-x86_64", "4.19.1-x86_64", "4.19.2-x86_64", "4.20.2-x86_64"}
	_, err := mirroring.Run(t.Context(), p.MirrorOptions(config, p.Docker("data")))
	mirrortest.Refused(t, err, advice.Failure, "the manifests in ", " were written; making update graphs for a web server: ")
	p.Mirror.Script()
	hasSignatures(p, releases...)
	p.Mirrored(config, p.Docker("data"))
	// The graph has all releases in the mirror, also those of the other channel, as an update service at the site.
	if diff := cmp.Diff([]string{
		"4.18.1 -> 4.18.2", "4.18.1 -> 4.19.1 PausedPools", "4.18.1 -> 4.19.2", "4.18.2 -> 4.19.1 PausedPools", "4.18.2 -> 4.19.2",
		"4.19.1 -> 4.19.2", "4.19.2 -> 4.20.2",
	}, updates(p, "fast-4.20")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	hasSignatures(p, releases...)

	before := (&mirrored{Site: p.Site}).written()
	p.Mirrored(config, p.Docker("data"))
	fail.Diff(t, before, (&mirrored{Site: p.Site}).written())
	p.Config("releases.yaml", "  additionalImages: [{name: "+p.Source.Host+"/quay.io/openshift-release-dev/ocp-release:4.18.1-x86_64}]\n")
	p.Mirrored(config, p.Docker("data"))
	if _, err := removal.Prune(t.Context(), removal.PruneOptions{Env: p.NewEnv(), Mirror: p.Docker("data"), Workspace: p.Workspace(), Yes: true}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{cluster.GraphFolder, cluster.SignatureFolder} {
		if p.Exists("workspace/cluster-resources/" + name) {
			t.Errorf("the folder %s is still there", name)
		}
	}
}

// TestWebFilesWithoutGraphData writes the graphs as they were planned.
func TestWebFilesWithoutGraphData(t *testing.T) {
	t.Parallel()
	p := mirrortest.SmallPlatform(t)
	config := p.Config("releases.yaml", "  platform:\n"+twoChannels)
	p.Mirrored(config, p.Docker("hops"))
	for channel, want := range map[string][]string{"fast-4.20": {"4.18.1 -> 4.19.1 PausedPools"}, "eus-4.20": {"4.18.1 -> 4.19.2", "4.18.2 -> 4.19.2", "4.19.2 -> 4.20.2"}} {
		if diff := cmp.Diff(want, updates(p, channel)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", channel, diff)
		}
	}
}
