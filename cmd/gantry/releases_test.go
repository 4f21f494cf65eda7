package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/release"
)

func TestPlatform(t *testing.T) {
	t.Parallel()
	w := newSmallFixture(t)
	cfg := w.config("imageset.yaml", `  platform:
    graph: true
    kubeVirtContainer: true
    channels:
    - name: fast-4.20
      from: [4.18.1]
`)
	w.must("plan", "-c", cfg, "-o", w.path("plan.json"))
	w.must("mirror", "-c", cfg, w.docker("/ocp"))
	path := []string{"4.18.1-x86_64", "4.19.2-x86_64", "4.20.2-x86_64"}
	w.holds("ocp", path...)
	w.attested("workspace", path...)
	w.installFiles("workspace", "ocp", path...)
}

// as412 returns a release with the components of a real one, and a smaller multi-architecture
// release.
func as412() releasetest.Definition {
	one := releasetest.Release{
		Version: "4.12.0", Components: releasetest.Real412(), Sigstore: true, BootImages: []release.Arch{"amd64"},
		URL: "https://errata.example.com/2023/4.12.0",
	}
	all := one
	all.Arch, all.Components, all.BootImages = release.Multi, nil, []release.Arch{"amd64", "s390x"}
	return releasetest.Definition{
		ComponentSize: 256, Releases: []releasetest.Release{one, all}, Channels: map[string][]string{"stable-4.12": {"4.12.0"}},
	}
}

// TestReal412 mirrors a release of real size, directly and with an archive without a network, and
// checks that both mirrors have the same bytes.
func TestReal412(t *testing.T) {
	t.Parallel()
	if short(t) {
		t.Skip("makes some hundred images; TestPlatform takes the same steps with few")
	}
	w := newPlatformFixture(t, as412())
	names := []string{"4.12.0-multi", "4.12.0-x86_64"}
	if n := len(w.payload(names[1]).Images); n != 183 {
		t.Fatalf("the release has %d components", n)
	}
	cfg := w.config("imageset.yaml", `  platform:
    graph: true
    kubeVirtContainer: true
    architectures: [amd64, multi]
    channels: [{name: stable-4.12}]
`)
	w.source.ResetLog()
	w.service.ResetLog()
	w.must("mirror", "-c", cfg, w.docker("/near"))
	w.once(w.source, w.service)
	w.holds("near", names...)
	w.attested("workspace", names...)
	w.gnupg("workspace")
	w.platformManifests("workspace", "near")

	// A second run copies nothing and sends at most one request for each present object.
	near := w.stores("near")
	w.source.ResetLog()
	w.mirror.ResetLog()
	if o := w.must("mirror", "-c", cfg, w.docker("/near")); !strings.Contains(o.stdout, "Nothing to copy") {
		t.Errorf("the second run prints\n%s", o.stdout)
	}
	w.copies("the second run")
	w.once(w.source, w.mirror)
	if n := w.source.Requests()["GET blob"]; n > 0 {
		t.Errorf("the second run read %d blobs again", n)
	}

	// With an archive, to a site without a network.
	disk := fileScheme + w.path("disk")
	w.must("mirror", "-c", cfg, disk)
	plug := w.unplug()
	for range 2 {
		w.must("verify", disk)
		w.must("mirror", "--from", disk, w.docker("/far"), "--workspace", w.path("far"))
	}
	w.must("verify", "--from", disk, w.docker("/far"), "--workspace", w.path("far"))
	plug()
	if diff := cmp.Diff(near, w.stores("far")); diff != "" {
		t.Errorf("the two mirrors differ (-direct +carried):\n%s", diff)
	}
	w.attested("far", names...)
	w.platformManifests("far", "far")
}

// installFiles checks that a new cluster can be installed from the mirror: the sources of the payloads, and
// an image set for each release.
func (w *platformFixture) installFiles(workspace, prefix string, names ...string) {
	w.t.Helper()
	dir := filepath.Join(w.path(workspace), "install")
	at := w.mirror.Host + "/" + prefix
	text, err := os.ReadFile(filepath.Join(dir, "install-config.yaml"))
	if want := "- source: quay.io/openshift-release-dev/ocp-release\n  mirrors:\n  - " + at + "/openshift/release-images\n"; err != nil || !strings.Contains(string(text), want) {
		w.t.Errorf("install-config.yaml is %q, error %v, want %q", text, err, want)
	}
	sets, err := os.ReadDir(filepath.Join(dir, "cluster-image-sets"))
	if err != nil || len(sets) != len(names) {
		w.t.Fatalf("%d image sets for releases %q, error %v", len(sets), names, err)
	}
	releases := w.stores(prefix)["openshift/release-images"].Tags
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, "cluster-image-sets", "img"+strings.ReplaceAll(name, "_", "-")+".yaml"))
		if want := "releaseImage: " + at + "/openshift/release-images@" + releases[name].String() + "\n"; err != nil || !strings.Contains(string(text), want) {
			w.t.Errorf("the image set of %s is %q, error %v, want %q", name, text, err, want)
		}
	}
}

// platformManifests checks that the cluster resources are the mirror sets, the update service and
// the signatures, and no others.
func (w *platformFixture) platformManifests(workspace, prefix string) {
	w.t.Helper()
	files := w.manifests(workspace)
	at := w.mirror.Host + "/" + prefix
	graph := w.stores(prefix)[graphRepository].Tags["latest"]
	want := map[string]string{
		"idms-release-0.yaml": `apiVersion: config.openshift.io/v1
kind: ImageDigestMirrorSet
metadata:
  name: idms-release-0
spec:
  imageDigestMirrors:
  - source: quay.io/openshift-release-dev/ocp-release
    mirrors:
    - ` + at + `/openshift/release-images
  - source: quay.io/openshift-release-dev/ocp-v4.0-art-dev
    mirrors:
    - ` + at + `/openshift/release
`,
		"update-service-oc-mirror.yaml": `apiVersion: updateservice.operator.openshift.io/v1
kind: UpdateService
metadata:
  name: update-service-oc-mirror
  namespace: openshift-update-service
spec:
  replicas: 2
  releases: ` + at + `/openshift/release-images
  graphDataImage: ` + at + `/openshift/graph-image@` + graph.String() + "\n",
	}
	for name, text := range want {
		if diff := cmp.Diff(text, files[name]); diff != "" {
			w.t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if want[name] == "" && !strings.HasPrefix(name, "signature-sha256-") {
			w.t.Errorf("there is also %s:\n%s", name, files[name])
		}
	}
}
