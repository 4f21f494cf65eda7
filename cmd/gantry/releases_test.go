package main

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// headOf420 selects one release, 4.20.2 for amd64.
const headOf420 = "  platform:\n    kubeVirtContainer: true\n    channels: [{name: fast-4.20}]\n"

// TestPlatform mirrors an update path, directly and with an archive without a network.
func TestPlatform(t *testing.T) {
	t.Parallel()
	newSmallFixture(t).carry(headOf420[:len(headOf420)-3]+", from: [4.18.1]}]\n", "4.18.1-x86_64", "4.19.2-x86_64", "4.20.2-x86_64")
}

// TestReal412 does it with releases of real size.
func TestReal412(t *testing.T) {
	t.Parallel()
	if short(t) {
		t.Skip("makes some hundred images; TestPlatform takes the same steps with few")
	}
	one := releasetest.Release{Version: "4.12.0", Components: releasetest.Real412(), Sigstore: true, BootImages: []release.Arch{"amd64"}}
	all := one
	all.Arch, all.Components, all.BootImages = release.Multi, nil, []release.Arch{"amd64", "s390x"}
	w := newPlatformFixture(t, releasetest.Definition{
		ComponentSize: 256, Releases: []releasetest.Release{one, all}, Channels: map[string][]string{"stable-4.12": {"4.12.0"}},
	})
	if n := len(w.payload("4.12.0-x86_64").Images); n != 183 {
		t.Fatalf("the release has %d components", n)
	}
	w.carry("  platform:\n    kubeVirtContainer: true\n    architectures: [amd64, multi]\n    channels: [{name: stable-4.12}]\n", "4.12.0-multi", "4.12.0-x86_64")
}

// carry mirrors releases with their graph directly and with an archive, and checks that both mirrors have the same
// content, and that a second run copies nothing.
func (w *platformFixture) carry(stanza string, names ...string) {
	w.t.Helper()
	cfg := w.config("imageset.yaml", stanza+"    graph: true\n")
	w.source.ResetLog() // of the push of the releases
	w.must("mirror", "-c", cfg, w.docker("/near"))
	asked := map[string]int{}
	for _, r := range append(w.source.Log(), w.service.Log()...) {
		if asked[r.Method+r.Path+r.Query]++; asked[r.Method+r.Path+r.Query] > 1 {
			w.t.Errorf("%s %s was requested again", r.Method, r.Path)
		}
	}
	w.holds("near", names...)
	w.attested("workspace", names...)
	near := w.stores("near")
	w.source.ResetLog()
	w.mirror.ResetLog()
	w.says(w.must("mirror", "-c", cfg, w.docker("/near")).stdout, "Nothing to copy")
	n := contentRequests(w.mirror)
	if sent := n["PUT manifest"] + n["POST upload"] + n["POST mount"] + w.source.Requests()["GET blob"]; sent > 0 {
		w.t.Errorf("the second run read or wrote %d times", sent)
	}

	disk := fileScheme + w.path("disk")
	w.must("mirror", "-c", cfg, disk)
	plug := w.unplug()
	w.must("verify", disk)
	w.must("mirror", "--from", disk, w.docker("/far"), "--workspace", w.path("far"))
	w.must("verify", "--from", disk, w.docker("/far"), "--workspace", w.path("far"))
	plug()
	if diff := cmp.Diff(near, w.stores("far")); diff != "" {
		w.t.Errorf("the two mirrors differ (-direct +carried):\n%s", diff)
	}
	w.attested("far", names...)
}

// TestReleaseTrust checks that a site writes nothing of a release that clusters would not accept, unless its signature is
// ignored. Keys do not come from the archive. Package updates tests the connected side.
func TestReleaseTrust(t *testing.T) {
	t.Parallel()
	w := newSmallFixture(t)
	p := w.payload("4.20.2-x86_64")
	isc, disk, plain := w.config("imageset.yaml", headOf420), fileScheme+w.path("disk"), fileScheme+w.path("unverified")
	const ignore, warning = "--ignore-release-signature", "without checking their signatures (--ignore-release-signature)"
	w.says(w.must("mirror", "-c", isc, plain, ignore, "--workspace", w.path("second")).stderr, warning)
	w.must("mirror", "-c", isc, disk)
	key := w.env[updates.SignatureKeyVariable]
	delete(w.env, updates.SignatureKeyVariable)
	defer w.unplug()()
	far := []string{"--workspace", w.path("far")}
	w.refuse(exitMismatch, []string{"release 4.20.2-x86_64", "is not trusted", "--release-key"}, append(far, "mirror", "--from", disk, w.docker("/far"))...)
	w.refuse(exitUsage, []string{"release 4.20.2-x86_64 was planned without its signature", ignore}, append(far, "mirror", "--from", plain, w.docker("/far"))...)
	if n := contentRequests(w.mirror); n["PUT manifest"]+n["POST upload"] > 0 || len(w.glob(w.path("*/cluster-resources/*"))) > 0 {
		t.Errorf("what was refused was written: %v", n)
	}
	w.says(w.must(append(far, "mirror", "--from", plain, w.docker("/far"), ignore)...).stderr, warning)
	w.attested("far")
	w.must(append(far, "mirror", "--from", disk, w.docker("/far"), "--release-key", key)...)
	w.holds("far", p.Name)
	w.attested("far", p.Name)
}

// TestReleaseWithheld mirrors, carries and serves a release with an image that is missing at the source. Such a release
// must not get its tag, because update services find tagged releases and offer them to clusters.
func TestReleaseWithheld(t *testing.T) {
	t.Parallel()
	w := newSmallFixture(t)
	isc := w.config("imageset.yaml", headOf420+"    - {name: stable-4.20, minVersion: 4.19.2, maxVersion: 4.19.2}\n")
	isc = w.write("imageset.yaml", strings.Replace(readText(t, isc), "channels: [{name: fast-4.20}]\n", "channels:\n    - {name: fast-4.20}\n", 1))
	const held, other = "4.20.2-x86_64", "4.19.2-x86_64"
	part := w.payload(held).Images["rhel-coreos"].String()
	withheld := func(prefix string, args ...string) {
		t.Helper()
		w.refuse(exitPartial, []string{part, held, "withheld"}, append(args, w.docker("/"+prefix), "--workspace", w.path(prefix))...)
		if tags := w.stores(prefix)[releaseRepository].Tags; tags[held] != "" || tags[other] != w.payload(other).Digest {
			t.Errorf("%s has the tags %v", prefix, tags)
		}
		w.attested(prefix, other)
	}
	w.source.Script(registrytest.Rule{Path: part, Action: registrytest.Status(http.StatusNotFound)})
	withheld("direct", "mirror", "-c", isc)
	withheld("package", "mirror", "-c", isc, "--on-error", "package")
	disk := fileScheme + w.path("disk")
	w.refuse(exitPartial, []string{part, "releases that name these images will be withheld"}, "mirror", "-c", isc, disk)
	w.source.Script()

	s := serveDisk(w.fixture, disk, "--resources", w.path("served"))
	if !slices.ContainsFunc(s.NotServed, func(source string) bool { return strings.Contains(source, part) }) {
		t.Errorf("not served: %q", s.NotServed)
	}
	for name, want := range map[string]int{other: http.StatusOK, held: http.StatusNotFound} {
		s.get("/v2/"+releaseRepository+"/manifests/"+name, want)
		s.get("/v2/"+releaseRepository+"/manifests/"+w.payload(name).Digest.String(), want)
		if _, err := os.Stat(w.path("served/" + resources.SignatureFile(w.payload(name).Digest))); (err == nil) != (want == http.StatusOK) {
			t.Errorf("the ConfigMap of %s: %v", name, err)
		}
	}
	s.end(os.Interrupt)
	withheld("carried", "mirror", "--from", disk)
	w.must("mirror", "-c", isc, w.docker("/direct"), "--workspace", w.path("direct"))
	w.holds("direct", other, held)
}
