package main

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// TestBothProducts mirrors releases of OCP and OKD with one configuration. They come from different
// source repositories, and the mirror sets list them all.
func TestBothProducts(t *testing.T) {
	t.Parallel()
	long(t)
	okd := releasetest.Definition{
		Product:  release.OKD,
		Releases: []releasetest.Release{{Version: "4.20.0-okd-scos.1"}, {Version: "4.20.0-okd-scos.2", Previous: []string{"4.20.0-okd-scos.1"}}},
		Channels: map[string][]string{"stable-scos-4": {"4.20.0-okd-scos.1", "4.20.0-okd-scos.2"}},
	}
	w := newPlatformFixture(t, okd)
	w.serve(releasetest.Small(), okd)
	isc := w.config("imageset.yaml", `  platform:
    kubeVirtContainer: true
    channels:
    - {name: fast-4.20}
    - {name: stable-scos-4, type: okd, minVersion: 4.20.0-okd-scos.1}
`)
	w.must("mirror", "-c", isc, w.docker("/both"))
	c := w.mirror.Client()
	for _, name := range []string{"4.20.2-x86_64", "4.20.0-okd-scos.1-x86_64", "4.20.0-okd-scos.2-x86_64"} {
		_, err := c.Pull(t.Context(), "both/"+releaseRepository, name)
		for _, part := range releasetest.Components() {
			if err == nil {
				_, err = c.Pull(t.Context(), "both/"+componentRepository, name+"-"+part)
			}
		}
		if err != nil {
			t.Errorf("release %s is not complete: %v", name, err)
		}
	}
	at := w.mirror.Host + "/both/"
	want := `  imageDigestMirrors:
  - source: quay.io/okd/scos-content
    mirrors:
    - ` + at + `openshift/release
  - source: quay.io/okd/scos-release
    mirrors:
    - ` + at + `openshift/release-images
  - source: quay.io/openshift-release-dev/ocp-release
    mirrors:
    - ` + at + `openshift/release-images
  - source: quay.io/openshift-release-dev/ocp-v4.0-art-dev
    mirrors:
    - ` + at + "openshift/release\n"
	if _, got, _ := strings.Cut(w.manifests("workspace")["idms-release-0.yaml"], "spec:\n"); got != want {
		t.Errorf("the mirror sets (-want +got):\n%s", cmp.Diff(want, got))
	}
}

// TestTwoArchitectures mirrors a release for two architectures.
func TestTwoArchitectures(t *testing.T) {
	t.Parallel()
	long(t)
	u := releasetest.Definition{Channels: map[string][]string{"stable-4.20": {"4.20.1", "4.20.2"}}}
	for _, arch := range []release.Arch{"amd64", "arm64"} {
		u.Releases = append(u.Releases,
			releasetest.Release{Version: "4.20.1", Arch: arch}, releasetest.Release{Version: "4.20.2", Arch: arch, Previous: []string{"4.20.1"}})
	}
	w := newPlatformFixture(t, u)
	isc := w.config("imageset.yaml", `  platform:
    graph: true
    architectures: [amd64, arm64]
    channels: [{name: stable-4.20, from: [4.20.1]}]
`)
	w.must("plan", "-c", isc, "-o", w.path("plan.json"))
	w.must("mirror", "-c", isc, w.docker("/two"))
	names := []string{"4.20.1-aarch64", "4.20.1-x86_64", "4.20.2-aarch64", "4.20.2-x86_64"}
	w.holds("two", names...)
	w.attested("workspace", names...)
	w.must("check", "--platform", w.docker("/two"))

	// The graph data image runs on both architectures, and is the same if the plan is carried out
	// elsewhere.
	w.must("mirror", "--plan", w.path("plan.json"), "--workspace", w.path("elsewhere"), w.docker("/again"))
	var graphs []registrytest.Pulled
	for _, prefix := range []string{"two", "again"} {
		pulled, err := w.mirror.Client().Pull(t.Context(), prefix+"/"+graphRepository, "latest")
		if err != nil {
			t.Fatal(err)
		}
		graphs = append(graphs, pulled)
	}
	if diff := cmp.Diff(graphs[0], graphs[1]); diff != "" || graphs[0].Manifests != 3 {
		t.Errorf("%d manifests of the graph data image (-first +again):\n%s", graphs[0].Manifests, diff)
	}
}

// TestPlatformsOfReleases copies only some platforms of a multi-architecture payload. Its index is
// signed and keeps its digest, so the registry must accept an index with missing images.
func TestPlatformsOfReleases(t *testing.T) {
	t.Parallel()
	long(t)
	w := newSmallFixtureAt(t, registrytest.Options{Sparse: true})
	const name = "4.20.2-multi"
	isc := w.config("imageset.yaml", `  platform:
    kubeVirtContainer: true
    platforms: [{os: linux, architecture: amd64}, {os: linux, architecture: arm64}]
    channels: [{name: fast-4.20}]
`)
	disk := fileScheme + w.path("disk")
	w.must("mirror", "-c", isc, w.docker("/near"))
	w.must("mirror", "-c", isc, disk)
	plug := w.unplug()
	w.must("mirror", "--from", disk, w.docker("/far"), "--workspace", w.path("far"))
	plug()
	near := w.stores("near")
	if diff := cmp.Diff(near, w.stores("far")); diff != "" {
		t.Errorf("the two mirrors differ (-direct +carried):\n%s", diff)
	}
	p, releases, parts := w.payload(name), near[releaseRepository], near[componentRepository]
	if releases.Tags[name] != p.Digest {
		t.Errorf("the list is %s, want %s", releases.Tags[name], p.Digest)
	}
	for arch, d := range p.Shards {
		wanted := arch == "amd64" || arch == "arm64"
		if there := slices.Contains(releases.Manifests, d); there != wanted {
			t.Errorf("the release image for %s is there: %t", arch, there)
		}
		if sealed := releases.Tags[releasetest.SignatureTag(d)] != ""; sealed != wanted {
			t.Errorf("the signatures of the release image for %s are there: %t", arch, sealed)
		}
		if wanted {
			if _, err := w.mirror.Client().Pull(t.Context(), "near/"+releaseRepository, d.String()); err != nil {
				t.Error(err)
			}
		}
	}
	for part, d := range p.Images {
		if parts.Tags[name+"-"+part] != d {
			t.Errorf("%s is %s, want %s", part, parts.Tags[name+"-"+part], d)
		}
	}
	var disks []string
	for tag := range parts.Tags {
		if strings.Contains(tag, "kube-virt") {
			disks = append(disks, tag)
		}
	}
	if diff := cmp.Diff([]string{name + "-kube-virt-container-x86_64"}, disks); diff != "" {
		t.Errorf("disks (-want +got):\n%s", diff)
	}
	w.attested("workspace", name)

	// A registry that refuses such indexes is detected, and no tag is pushed to it.
	w.mirror.Script(registrytest.Rule{Method: http.MethodPut, Path: "/" + releaseRepository + "/manifests/|/" + componentRepository + "/manifests/", Action: func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if strings.Contains(r.Header.Get("Content-Type"), "list") {
			registrytest.Refuse(http.StatusBadRequest, "MANIFEST_BLOB_UNKNOWN")(rw, r, next)
			return
		}
		next.ServeHTTP(rw, r)
	}})
	w.refuse(exitError, []string{"platforms", "sparse"}, "mirror", "-c", isc, w.docker("/whole"), "--workspace", w.path("whole"))
	w.mirror.Script()
	if tags := w.stores("whole")[releaseRepository].Tags; tags[name] != "" {
		t.Error("the release is in the mirror")
	}
}

// TestOperatorsBlockUpdates checks that an operator that blocks a platform update is reported when
// both are mirrored.
func TestOperatorsBlockUpdates(t *testing.T) {
	t.Parallel()
	w := newSmallFixture(t)
	bundle, err := registrytest.BundleImage("anchor", "1.2.0")
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := registrytest.CatalogImage(fstest.MapFS{"anchor/catalog.json": {Data: []byte(`
{"schema": "olm.package", "name": "anchor", "defaultChannel": "stable"}
{"schema": "olm.channel", "package": "anchor", "name": "stable", "entries": [{"name": "anchor.v1.2.0"}]}
{"schema": "olm.bundle", "package": "anchor", "name": "anchor.v1.2.0", "image": "quay.io/acme/anchor-bundle:1.2.0",
 "properties": [{"type": "olm.package", "value": {"packageName": "anchor", "version": "1.2.0"}}, {"type": "olm.maxOpenShiftVersion", "value": "4.19"}]}
`)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		repository, tag string
		content         registrytest.Content
	}{{"quay.io/acme/anchor-bundle", "1.2.0", bundle}, {"quay.io/acme/index", "v4.20", catalog}} {
		if _, err := w.source.Client().Push(t.Context(), one.repository, one.tag, one.content); err != nil {
			t.Fatal(err)
		}
	}
	isc := w.config("imageset.yaml", `  operators:
  - catalog: quay.io/acme/index:v4.20
    packages: [{name: anchor}]
  platform:
    kubeVirtContainer: true
    channels: [{name: fast-4.20, from: [4.18.1]}]
`)
	o := w.must("plan", "-c", isc, "-o", w.path("plan.json"))
	if !strings.Contains(o.stdout, "anchor") || !strings.Contains(o.stdout, "4.19") {
		t.Errorf("the plan prints\n%s", o.stdout)
	}
	text, err := os.ReadFile(w.path("plan.json"))
	if err != nil {
		t.Fatal(err)
	}
	var p struct{ Updates []plan.UpdatePath }
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	got := map[string][]plan.Blocker{}
	for _, u := range p.Updates {
		for _, h := range u.Hops {
			got[h.From+" "+h.To] = h.Blockers
		}
	}
	want := map[string][]plan.Blocker{
		"4.18.1 4.19.2": nil,
		"4.19.2 4.20.2": {{Catalog: "quay.io/acme/index:v4.20", Package: "anchor", Bundle: "anchor.v1.2.0", Max: "4.19"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("blockers (-want +got):\n%s", diff)
	}
	w.must("mirror", "-c", isc, w.docker("/ocp"))
	w.attested("workspace", "4.18.1-x86_64", "4.19.2-x86_64", "4.20.2-x86_64")
}

// TestReleaseByReference checks that one payload can be mirrored by its reference.
func TestReleaseByReference(t *testing.T) {
	t.Parallel()
	long(t)
	w := newSmallFixture(t)
	const name = "4.20.1-multi"
	p := w.payload(name)
	for i, ref := range []string{p.Repository + ":" + name, p.Reference()} {
		prefix := "by" + string(rune('0'+i))
		isc := w.config("imageset.yaml", "  platform:\n    kubeVirtContainer: true\n    release: "+ref+"\n")
		w.must("mirror", "-c", isc, w.docker("/"+prefix), "--workspace", w.path(prefix))
		w.holds(prefix, name)
		w.attested(prefix, name)
	}
	gone := digest.FromString("nothing").String()
	isc := w.config("imageset.yaml", "  platform:\n    release: "+p.Repository+"@"+gone+"\n")
	w.refuse(exitError, []string{gone}, "mirror", "-c", isc, w.docker("/gone"), "--workspace", w.path("gone"))
}
