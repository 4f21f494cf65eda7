package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// The tests in this file mirror real catalogs from a folder next to the checkout. The program
// rehost, a separate module in that folder, invents an image for every reference in the catalogs.
// The tests are skipped if the folder is missing.

// realIndex is the catalog with the real packages, as rehost pushes it.
const realIndex = "registry.redhat.io/redhat/redhat-operator-index:v4.18"

// The packages of the test reference 2,733 images, with the variety of references in real catalogs:
// without a tag, with tag and digest, one tag for two images, many names for one image.
var realPackages = []string{
	"openshift-pipelines-operator-rh", "gpu-operator-certified", "project-quay", "cert-manager", "3scale-community-operator",
	"eda-k8s-operator", "external-dns-operator", "gatekeeper-operator-product", "kubecost-operator", "hive-operator",
}

// realSelection is a configuration of all ten packages, in two catalogs from one source: a full
// catalog of small packages, and one that uses every other way to select.
const realSelection = `  operators:
  - catalog: ` + realIndex + `
    packages:
    - name: openshift-pipelines-operator-rh
      channels:
      - name: pipelines-1.15
        minVersion: 1.15.3
      - name: latest
        minVersion: 1.23.0
    - name: gpu-operator-certified
    - name: project-quay
      defaultChannel: stable-3.17
      channels:
      - name: stable-3.17
      - name: stable-3.16
        maxVersion: 3.16.2
    - name: cert-manager
      minVersion: 1.14.0
      maxVersion: 1.15.0
    - name: gatekeeper-operator-product
      minVersion: 3.20.0
    - name: kubecost-operator
    - name: hive-operator
  - catalog: ` + realIndex + `
    targetCatalog: whole/index
    full: true
    packages:
    - name: 3scale-community-operator
    - name: eda-k8s-operator
    - name: external-dns-operator
`

// realFixture returns a fixture whose source has these packages, with the images that rehost invents
// for them.
func realFixture(t *testing.T, packages []string, flags ...string) *fixture {
	t.Helper()
	if short(t) {
		t.Skip("pushes some thousand images")
	}
	shared, err := filepath.Abs("../../../shared")
	fail.On(t, err)
	for _, dir := range []string{"catalogs", "crds", "tools/rehost"} {
		if _, err := os.Stat(filepath.Join(shared, dir)); err != nil {
			t.Skipf("no real catalogs: %v", err)
		}
	}
	w := &fixture{
		t: t, dir: t.TempDir(),
		source: registrytest.Start(t, registrytest.Options{}), mirror: registrytest.Start(t, registrytest.Options{}),
	}
	lap := stopwatch(t)
	buildProgram(t, filepath.Join(shared, "tools/rehost"), w.path("rehost"))
	buildProgram(t, "../../.ci/tools/crdcheck", w.path("crdcheck"))
	lap("tools built")
	rehost := exec.CommandContext(t.Context(), w.path("rehost"), append([]string{
		"-catalogs", filepath.Join(shared, "catalogs"), "-packages", strings.Join(packages, ","), "-catalog-repo", realIndex,
		"-registry", w.source.Host, "-out", w.path("real"), "-mean-layer", "1KiB", "-platforms", "linux/amd64,linux/arm64", "-jobs", "16",
	}, flags...)...)
	out, err := rehost.CombinedOutput()
	if err != nil {
		t.Fatalf("rehost: %v\n%s", err, out)
	}
	lap("rehosted")
	t.Logf("%s", out)
	w.surroundings(w.path("real/registries.conf"), "")
	return w
}

// buildProgram builds the program of another module.
func buildProgram(t *testing.T, dir, program string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", filepath.Base(dir), err, out)
	}
}

// stopwatch logs how long each part of a test took.
func stopwatch(t *testing.T) func(part string) {
	last := time.Now()
	return func(part string) {
		now := time.Now()
		t.Logf("%6.1fs %s", now.Sub(last).Seconds(), part)
		last = now
	}
}

func TestRealCatalogsBothDirections(t *testing.T) {
	t.Parallel()
	w := realFixture(t, realPackages)
	lap := stopwatch(t)
	isc, disk := w.config("real.yaml", realSelection), "file://"+w.path("disk")
	catalogs := []string{"redhat/redhat-operator-index", "whole/index"}

	w.source.ResetLog()
	w.must("mirror", "-c", isc, w.docker("/direct"))
	lap("mirrored directly")
	moved := readOnce(t, w.source.Log())
	direct := w.pullAll("direct", catalogs)
	lap("pulled everything")

	w.source.ResetLog()
	w.mirror.ResetLog()
	if again := w.must("mirror", "-c", isc, w.docker("/direct")); !strings.Contains(again.stdout, "Nothing to copy") {
		t.Errorf("a second run prints\n%s", again.stdout)
	}
	for kind, n := range contentRequests(w.mirror) {
		// Each run checks that some blobs still exist: one for eight of the 526 images.
		sampled := kind == "HEAD blob" && n <= 70
		if !strings.HasPrefix(kind, "HEAD manifest") && !strings.HasPrefix(kind, "GET ping") && kind != "GET tags" && !sampled {
			t.Errorf("a second run made %d requests %q of the mirror", n, kind)
		}
	}
	if n := w.source.Requests()["GET blob"]; n > 0 {
		t.Errorf("a second run read %d blobs", n)
	}
	lap("mirrored again")

	w.source.ResetLog()
	w.must("mirror", "-c", isc, disk, "--workspace", w.path("near"))
	lap("mirrored to disk")
	if carried := readOnce(t, w.source.Log()); carried != moved {
		t.Errorf("%d blobs were read for the disk, %d for the mirror", carried, moved)
	}
	w.source.ResetLog()
	w.must("mirror", "--from", disk, w.docker("/carried"), "--workspace", w.path("far"))
	lap("mirrored from disk")
	if n := len(w.source.Log()); n > 0 {
		t.Errorf("the disconnected side sent %d requests to the source", n)
	}
	carried := w.pullAll("carried", catalogs)
	lap("pulled everything")
	for i, c := range catalogs {
		if direct[i].Catalog != carried[i].Catalog {
			t.Errorf("catalog %s is %s one way and %s the other", c, direct[i].Catalog.Digest, carried[i].Catalog.Digest)
		}
	}

	w.resolve("workspace", "direct", direct)
	w.resolve("far", "carried", carried)
	lap("cluster resources checked")
}

// readOnce checks that no content was read twice, and counts the blobs.
func readOnce(t *testing.T, log []registrytest.Request) int {
	t.Helper()
	blobs := 0
	read := map[string]bool{}
	for _, r := range log {
		if r.Kind() == "GET blob" {
			blobs++
		} else if r.Kind() != "GET manifest" {
			continue
		}
		name := r.Path
		if i := strings.Index(name, "sha256:"); i >= 0 {
			name = name[i:]
		}
		if read[name] && strings.HasPrefix(name, "sha256:") { // a tag may be requested twice
			t.Errorf("%s was read twice", r.Path)
		}
		read[name] = true
	}
	if blobs == 0 {
		t.Error("no blob was read")
	}
	return blobs
}

// pullAll pulls catalogs from the mirror, and all their images.
func (w *fixture) pullAll(prefix string, catalogs []string) []registrytest.Verified {
	w.t.Helper()
	var all []registrytest.Verified
	for _, c := range catalogs {
		place := func(path string) string { return prefix + "/" + path }
		v, err := w.mirror.Client().VerifyCatalog(w.t.Context(), place(c), "v4.18", place)
		if err != nil {
			w.t.Fatalf("the mirror is not complete: %v", err)
		}
		w.t.Logf("%s: %d bundles, %d images pulled", place(c), len(v.Bundles), len(v.Pulled))
		all = append(all, v)
	}
	return all
}
