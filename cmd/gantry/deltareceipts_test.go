package main

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// bases returns the digests of what the deltas of a disk are based on.
func (w *deltaFixture) bases(disk string) []string {
	w.t.Helper()
	have, err := archive.Inspect(w.path(disk))
	if err != nil {
		w.t.Fatal(err)
	}
	defer have.Close()
	var all []string
	for d := range have.Deltas() {
		for _, b := range d.Bases {
			all = append(all, b.Digest.String())
		}
	}
	return all
}

// TestDeltaSince writes archives that build on each of the sequences before them.
func TestDeltaSince(t *testing.T) {
	t.Parallel()
	long(t)
	w := newDeltaFixture(t)
	images := []string{""}
	for month := 1; month <= 3; month++ {
		images = append(images, w.publish(month))
		w.written(fmt.Sprint("disk", month))
	}
	images = append(images, w.publish(4))
	for since := 1; since <= 3; since++ {
		n := strconv.Itoa(since)
		r := w.written("since"+n, "--since", n)
		if r.Deltas == nil || r.Deltas.Blobs != 1 || r.BuildsOn != since {
			t.Fatalf("--since %s: %+v, %+v", n, r, r.Deltas)
		}
		if got := w.bases("since" + n); len(got) != 1 || got[0] != w.layer(images[since]) {
			t.Errorf("--since %s: based on %v, want %s", n, got, w.layer(images[since]))
		}
		w.must("mirror", w.docker("/site"+n), "--from", fileScheme+w.path("disk1"), "--workspace", w.path("inside"+n))
		disks := []string{"mirror", w.docker("/site" + n), "--from", fileScheme + w.path("since"+n), "--workspace", w.path("inside" + n)}
		for k := 2; k <= since; k++ {
			disks = append(disks, "--from", fileScheme+w.path("disk"+strconv.Itoa(k)))
		}
		w.must(disks...)
		w.must("verify", w.docker("/site"+n), "--workspace", w.path("inside"+n), "--read-blobs")
	}
}

// TestDeltaReceipt writes an archive for a site whose last import was partial: the layer that the site did not get is no
// base.
func TestDeltaReceipt(t *testing.T) {
	t.Parallel()
	w := newDeltaFixture(t)
	w.publish(1)
	w.written("disk1")
	w.imported("disk1")
	second := w.publish(2)
	w.written("disk2")
	w.mirror.Script(registrytest.Rule{Method: http.MethodPut, Path: "/org/app/manifests/", Action: registrytest.Refuse(http.StatusBadRequest, "MANIFEST_INVALID")})
	o := w.gantry(append(w.from("disk2"), "--workspace", w.path("inside"), "--write-receipt", w.path("site.json"))...)
	if o.code != exitPartial {
		t.Fatalf("%d\n%s%s", o.code, o.stdout, o.stderr)
	}
	w.mirror.Script()
	third := w.publish(3)
	w.written("disk3", "--receipt", w.path("site.json"))
	if slices.Contains(w.bases("disk3"), w.layer(second)) {
		t.Error("it is based on the layer that the site did not get")
	}
	w.imported("disk3")
	w.has(third)
}

// TestDeltaTwoSites imports one archive into two sites. One of them lost a base.
func TestDeltaTwoSites(t *testing.T) {
	t.Parallel()
	long(t)
	w := newDeltaFixture(t)
	other := &deltaFixture{fixture: &fixture{t: t, dir: w.dir, sample: w.sample, source: w.source, mirror: registrytest.Start(t, registrytest.Options{}), env: w.env}, isc: w.isc}
	conf := w.read("registries.conf")
	w.write("registries.conf", conf+"\n[[registry]]\nlocation = \""+other.mirror.Host+"\"\ninsecure = true\n")
	first := w.publish(1)
	w.written("disk1")
	second := w.publish(2)
	w.written("disk2")
	w.imported("disk1")
	other.must(append(other.from("disk1"), "--workspace", w.path("inside2"))...)
	other.lose(first)
	w.imported("disk2")
	w.has(second)
	o := other.gantry(append(other.from("disk2"), "--workspace", w.path("inside2"))...)
	request := w.path("inside2/requests/ops-000002.json")
	if o.code != exitPartial || !strings.Contains(o.stdout, request) {
		t.Fatalf("%d\n%s%s", o.code, o.stdout, o.stderr)
	}
	w.must("mirror", "--repair", request, fileScheme+w.path("repair"), "--workspace", w.path("outside"))
	other.must(append(other.from("disk2", "repair"), "--workspace", w.path("inside2"))...)
	other.mirror.Script()
	other.has(second)
	// The next archive is for both.
	third := w.publish(3)
	w.written("disk3")
	w.imported("disk3")
	w.has(third)
	other.must(append(other.from("disk3"), "--workspace", w.path("inside2"))...)
	other.has(third)
}

// TestDeltaPruned prunes the site between two archives, and its registry collects garbage. An archive that follows the
// last import needs nothing that was deleted. One for an earlier sequence does, and its repair brings it.
func TestDeltaPruned(t *testing.T) {
	t.Parallel()
	long(t)
	w := newDeltaFixture(t)
	first := w.publish(1)
	w.written("disk1")
	w.imported("disk1")
	w.publish(2)
	w.written("disk2")
	w.must(append(w.from("disk2"), "--workspace", w.path("inside"), "--write-receipt", w.path("site.json"))...)
	w.says(w.must("prune", "--yes", w.docker("/site"), "--workspace", w.path("inside")).stdout, "Deleted from", "1 manifest")
	third := w.publish(3)
	old := w.layer(first)
	w.written("earlier", "--since", "1")
	w.mirror.Script(registrytest.Rule{Path: "/blobs/" + old, Action: registrytest.Refuse(http.StatusNotFound, "BLOB_UNKNOWN")})
	o := w.gantry(append(w.from("earlier"), "--workspace", w.path("inside"))...)
	request := w.path("inside/requests/ops-000003.json")
	if o.code != exitPartial || !strings.Contains(o.stdout, request) {
		t.Fatalf("%d\n%s%s", o.code, o.stdout, o.stderr)
	}
	w.must("mirror", "--repair", request, fileScheme+w.path("repair"), "--workspace", w.path("outside"))
	w.imported("earlier", "repair")
	w.has(third)
	fourth := w.publish(4)
	if r := w.written("receipt", "--receipt", w.path("site.json")); r.Deltas == nil || r.Deltas.Blobs != 1 || slices.Contains(w.bases("receipt"), old) {
		t.Errorf("%+v, based on %v", r.Deltas, w.bases("receipt"))
	}
	w.imported("receipt")
	w.has(fourth)
}
