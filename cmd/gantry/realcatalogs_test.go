package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/reference"
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
	if err != nil {
		t.Fatal(err)
	}
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

// TestRealCatalogWithMissingImages checks catalogs with images that the vendor has withdrawn, both
// directly and with a disk: the other images are copied, the incomplete catalog is withheld, and
// the exit status reports it.
func TestRealCatalogWithMissingImages(t *testing.T) {
	t.Parallel()
	const missing = 3
	w := realFixture(t, []string{"eda-k8s-operator", "kube-green", "external-dns-operator"}, "-missing", strconv.Itoa(missing))
	isc, disk := w.config("real.yaml", "  operators:\n  - catalog: "+realIndex+"\n    full: true\n"), "file://"+w.path("disk")
	have, lack := w.lines("real/images.txt"), w.lines("real/missing.txt")
	if len(lack) < missing {
		t.Fatalf("rehost left out %d images, want %d", len(lack), missing)
	}

	plan := w.gantry("plan", "-c", isc, "--output", "json")
	var planned struct {
		Plan struct{ Missing []struct{ Source string } }
	}
	if err := json.Unmarshal([]byte(plan.stdout), &planned); err != nil || plan.code != exitPartial || len(planned.Plan.Missing) != len(lack) {
		t.Errorf("the plan ended with %d, lists %d images as missing, want %d and %d: %v", plan.code, len(planned.Plan.Missing), exitPartial, len(lack), err)
	}
	for _, way := range []struct {
		name, prefix string
		args         []string
	}{
		{"directly", "direct", []string{"-c", isc, w.docker("/direct")}},
		{"to disk", "", []string{"-c", isc, disk}},
		{"from disk", "carried", []string{"--from", disk, w.docker("/carried")}},
	} {
		o := w.gantry(append([]string{"mirror"}, way.args...)...)
		if o.code != exitPartial {
			t.Errorf("%s: ended with %d, want %d\n%s%s", way.name, o.code, exitPartial, o.stdout, o.stderr)
		}
		for _, line := range lack {
			if !strings.Contains(o.stderr, "not mirrored: "+line[1]) {
				t.Errorf("%s: %s is not named:\n%s", way.name, line[1], o.stderr)
			}
		}
		if n := strings.Count(o.stderr, "not mirrored: "); n != len(lack) {
			t.Errorf("%s: %d images are named, want %d", way.name, n, len(lack))
		}
		// The archive contains the catalog. It is withheld when the archive is imported.
		if way.prefix == "" {
			continue
		}
		if !strings.Contains(o.stderr, "withheld: catalog "+realIndex+", which names "+strconv.Itoa(len(lack))+" images") {
			t.Errorf("%s: the catalog is not reported as withheld:\n%s", way.name, o.stderr)
		}
		client := w.mirror.Client()
		if _, err := client.Pull(t.Context(), way.prefix+"/redhat/redhat-operator-index", "v4.18"); err == nil {
			t.Errorf("%s: the catalog was published", way.name)
		}
		for _, line := range have {
			ref, err := reference.Parse(line[1])
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.Pull(t.Context(), way.prefix+"/"+ref.Path, ref.Identifier()); err != nil {
				t.Errorf("%s: %v", way.name, err)
			}
		}
	}
	// If the configuration blocks the missing images, the catalog is published.
	var block strings.Builder
	for _, line := range lack {
		fmt.Fprintf(&block, "  - name: ^%s$\n", regexp.QuoteMeta(line[1]))
	}
	w.must("mirror", "-c", w.config("blocked.yaml", "  operators:\n  - catalog: "+realIndex+"\n    full: true\n  blockedImages:\n"+block.String()), w.docker("/direct"))
	if _, err := w.mirror.Client().Pull(t.Context(), "direct/redhat/redhat-operator-index", "v4.18"); err != nil {
		t.Errorf("with the images blocked: %v", err)
	}
}

// lines reads a file of tab-separated lines.
func (w *fixture) lines(name string) [][]string {
	w.t.Helper()
	text, err := os.ReadFile(w.path(name))
	if err != nil {
		w.t.Fatal(err)
	}
	var all [][]string
	for line := range strings.Lines(string(text)) {
		all = append(all, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return all
}
