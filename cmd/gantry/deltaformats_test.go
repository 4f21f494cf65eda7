package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/archive/inspect"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestDeltaVolumes carries deltas that are split over small volumes with parity, loses a volume, and rebuilds it.
func TestDeltaVolumes(t *testing.T) {
	t.Parallel()
	w := newDeltaFixture(t)
	w.publish(1)
	w.written("disk1")
	w.imported("disk1")
	second := w.publish(2, registrytest.File{Name: "app/new", Data: program(5, 200<<10, 2)})
	r := w.written("disk2", "--volume-size", "0.05MB", "--redundancy", "30%")
	if r.Deltas == nil || r.Deltas.Blobs != 1 {
		t.Fatalf("%+v", r.Deltas)
	}
	have, err := archive.Inspect(w.path("disk2"))
	if err != nil {
		t.Fatal(err)
	}
	volumes := map[string]bool{} // with parts of the delta
	for e := range have.Entries() {
		if _, ok := have.BlobOf(e.Digest); ok {
			volumes[e.Volume] = true
		}
	}
	if err := have.Close(); err != nil || len(volumes) < 2 {
		t.Fatalf("the delta is in %v, %v", volumes, err)
	}
	for name := range volumes {
		if err := os.Remove(filepath.Join(w.path("disk2"), name)); err != nil {
			t.Fatal(err)
		}
		break
	}
	disk := fileScheme + w.path("disk2")
	w.says(w.looked(exitMismatch, "verify", disk).stderr, "gantry archive rebuild")
	w.refuse(exitMismatch, []string{"gantry archive rebuild"}, append(w.from("disk2"), "--workspace", w.path("inside"))...)
	w.looked(exitOK, "archive", "rebuild", disk)
	w.looked(exitOK, "verify", disk)
	w.imported("disk2")
	w.has(second)
}

// TestDeltaSealed carries deltas in signed and encrypted archives: what shows without the identity, verify, inspect,
// import, and the repair of a layer whose base was lost.
func TestDeltaSealed(t *testing.T) {
	t.Parallel()
	w := newDeltaFixture(t)
	identity, recipient := w.ageKey("identity.txt", "")
	_, key, _ := w.sshKey("ops", "")
	write, read := []string{"--encrypt-to", recipient, "--sign-key", key}, []string{"--identity", identity, "--verify-key", key + ".pub"}
	first := w.publish(1)
	w.written("disk1", write...)
	imported := func(code int, disks ...string) outcome {
		t.Helper()
		args := append(append(w.from(disks...), "--workspace", w.path("inside")), read...)
		o := w.gantry(args...)
		if o.code != code {
			t.Fatalf("the import ended with %d\n%s%s", o.code, o.stdout, o.stderr)
		}
		return o
	}
	imported(exitOK, "disk1")
	second := w.publish(2)
	if r := w.written("disk2", write...); r.Deltas == nil || r.Deltas.Blobs != 1 {
		t.Fatalf("%+v", r.Deltas)
	}
	disk := fileScheme + w.path("disk2")
	w.looked(exitOK, "verify", disk)
	for _, args := range [][]string{{"archive", "inspect", disk}, {"archive", "inspect", disk, "-o", "json"}} {
		if o := w.looked(exitOK, args...); strings.Contains(o.stdout, "delta") {
			t.Errorf("without the identity, it prints\n%s", o.stdout)
		}
	}
	for _, name := range w.tree("disk2") {
		if strings.Contains(name, "delta") {
			t.Errorf("the disk has %s", name)
		}
	}
	w.says(w.looked(exitOK, append([]string{"verify", disk}, read...)...).stdout, "signed by", "is intact")
	w.says(w.looked(exitOK, append([]string{"archive", "inspect", disk}, read...)...).stdout, "carries 1 blob (", "format features: builds-on, deltas")
	if got := decoded[inspect.Inspection](t, w.looked(exitOK, append([]string{"archive", "inspect", disk, "-o", "json"}, read...)...).stdout); got.Sets[0].Deltas != 1 {
		t.Errorf("%+v", got.Sets[0])
	}
	w.lose(first)
	o := imported(exitPartial, "disk2")
	request := w.path("inside/requests/ops-000002.json")
	w.says(o.stdout+o.stderr, request)
	w.refuse(exitUsage, []string{"--encrypt-to"}, "mirror", "--repair", request, fileScheme+w.path("repair"), "--workspace", w.path("outside"))
	w.must(append([]string{"mirror", "--repair", request, fileScheme + w.path("repair"), "--workspace", w.path("outside")}, write...)...)
	imported(exitOK, "disk2", "repair")
	w.has(second)
}

// layer returns the layer of an image that changes each month.
func (w *deltaFixture) layer(image string) string {
	w.t.Helper()
	reader := &rawReader{url: w.source.URL(), read: map[string]*rawManifest{}}
	layers := reader.tree(w.t, "org/app", image)[0].Layers
	return layers[len(layers)-1].Digest
}

// lose has the mirror answer that it does not have the layers of images.
func (w *deltaFixture) lose(images ...string) {
	w.t.Helper()
	var rules []registrytest.Rule
	for _, img := range images {
		rules = append(rules, registrytest.Rule{Path: "/blobs/" + w.layer(img), Action: registrytest.Refuse(http.StatusNotFound, "BLOB_UNKNOWN")})
	}
	w.mirror.Script(rules...)
}
