package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/cluster"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// hopConf writes the registries.conf with which the next hop reads from mirrors, as docs/recipes/enclave.md
// describes it: locations by prefix.
func (w *fixture) hopConf(name string, locations map[string]string) string {
	w.t.Helper()
	var conf strings.Builder
	for _, prefix := range sortedKeys(locations) {
		fmt.Fprintf(&conf, "[[registry]]\nprefix = %q\nlocation = %q\ninsecure = true\n", prefix, locations[prefix])
	}
	return w.write(name, conf.String())
}

// TestReleasesOverHops mirrors releases from the source to a mirror, and from there to a second and a third
// one. The later hops reach neither the source nor its services, and read the update graph and the signatures
// that the hop before published.
func TestReleasesOverHops(t *testing.T) {
	t.Parallel()
	long(t)
	w := newSmallFixture(t)
	stanza := "  platform:\n    graph: true\n    kubeVirtContainer: true\n    channels: [{name: fast-4.20, from: [4.18.1]}]\n"
	isc := w.config("imageset.yaml", stanza)
	w.must("mirror", "-c", isc, w.docker("/a"), "--workspace", w.path("a"))
	path := []string{"4.18.1-x86_64", "4.19.2-x86_64", "4.20.2-x86_64"}
	w.holds("a", path...)
	graphTag := w.stores("a")[graphRepository].Tags["latest"]
	if graphTag == "" {
		t.Fatal("the first mirror has no graph data")
	}
	// The file of graph data is carried from the connected side.
	isc = w.config("hop.yaml", stanza+"    graphData: "+w.write("graph-data.tar.gz", string(w.releases.GraphData()))+"\n")
	defer w.unplug()()
	web := httptest.NewServer(http.FileServer(http.Dir(w.dir)))
	defer web.Close()
	w.refuseAllBut(w.mirror.Host, web.Listener.Addr().String())
	for _, hop := range [][2]string{{"a", "b"}, {"b", "c"}} {
		from, to := hop[0], hop[1]
		w.env["CONTAINERS_REGISTRIES_CONF"] = w.hopConf(from+".conf", map[string]string{
			"quay.io/openshift-release-dev/ocp-release":      w.mirror.Host + "/" + from + "/openshift/release-images",
			"quay.io/openshift-release-dev/ocp-v4.0-art-dev": w.mirror.Host + "/" + from + "/openshift/release",
			w.mirror.Host: w.mirror.Host,
		})
		served := web.URL + "/" + from + "/cluster-resources/"
		w.env[updates.SignatureURLVariable] = served + cluster.SignatureFolder
		w.env[updates.UpdateURLVariable] = served + cluster.GraphFolder + "/graph-fast-4.20-amd64.json"
		w.must("mirror", "-c", isc, w.docker("/"+to), "--workspace", w.path(to))
		w.holds(to, path...)
		w.attested(to, path...)
		w.says(w.read(to+"/cluster-resources/update-service-oc-mirror.yaml"), w.mirror.Host+"/"+to+"/"+graphRepository+"@"+graphTag.String())
		w.must("verify", w.docker("/"+to), "--workspace", w.path(to))
	}
}

// TestCatalogsOverHops mirrors catalogs over three registries and selects less of them at each hop. The last
// hop reads from the second registry alone. After that, the mirror's verbs ask nothing but the mirror.
func TestCatalogsOverHops(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	w.must("mirror", "-c", w.path("imageset.yaml"), w.docker("/b"), "--workspace", w.path("b"))
	third := registrytest.Start(t, registrytest.Options{})
	b := w.mirror.Host + "/b"
	w.refuseAllBut(w.mirror.Host, third.Host)
	w.env["CONTAINERS_REGISTRIES_CONF"] = w.hopConf("hop.conf", map[string]string{
		"registry.example.com": b, "images.example.net": b, "quay.example.org": b,
		"quay.example.org/community/operator-index": b + "/" + community, // its targetCatalog
		w.mirror.Host: w.mirror.Host, third.Host: third.Host,
	})
	w.source.ResetLog()
	isc := w.config("hop.yaml", `  operators:
  - catalog: registry.example.com/acme/operator-index:v4.20
    packages: [{name: lantern}]
  - catalog: quay.example.org/community/operator-index:v4.20
    packages: [{name: lantern}]
  additionalImages:
  - name: images.example.net/tools/netcheck:1.4
`)
	to, far := "docker://"+third.Host+"/c", []string{"--workspace", w.path("c")}
	disk := fileScheme + w.path("disk")
	w.must("mirror", "-c", isc, disk, "--workspace", w.path("near"))
	w.mirror.ResetLog()
	w.must(append([]string{"mirror", "--from", disk, to}, far...)...)
	for _, args := range [][]string{{"verify", to}, {"verify", "--from", disk, to}, {"status", to}, {"resources", to}, {"prune", to}} {
		w.must(append(args, far...)...)
	}
	served := serveDisk(w, disk, "--resources", w.path("manifests"))
	if v, err := registrytest.NewClient(served.Address).VerifyCatalog(t.Context(), acme, "v4.20", func(path string) string { return path }); err != nil || len(v.Pulled) == 0 {
		t.Errorf("the served archive: %+v, %v", v, err)
	}
	served.end(os.Interrupt)
	for _, s := range []*registrytest.Server{w.source, w.mirror} {
		for _, r := range s.Log() {
			t.Errorf("%s %s was requested", r.Method, r.Path)
		}
	}
	w.must("mirror", "-c", isc, "docker://"+third.Host+"/direct", "--workspace", w.path("direct"))
	for _, r := range w.source.Log() {
		t.Errorf("%s %s was requested from the first source", r.Method, r.Path)
	}
	w.must("verify", "docker://"+third.Host+"/direct", "--workspace", w.path("direct"))
}
