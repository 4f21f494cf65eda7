package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/pkg/airgap"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// deltaFixture is a source with an image that changes a little each month, a site, and disks between them.
type deltaFixture struct {
	*fixture
	isc string
}

func newDeltaFixture(t *testing.T) *deltaFixture {
	t.Helper()
	w := &deltaFixture{fixture: newFixture(t, registrytest.Options{})}
	w.isc = w.config("ops.yaml", "  additionalImages:\n  - name: "+w.source.Host+"/org/app:stable\n")
	return w
}

// program returns the bytes of a file that changes a little each month: some words differ, and some are new.
func program(seed uint64, size, month int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%x %d\n", r.Uint64(), i)
		if i%500 == 250 {
			fmt.Fprintf(&b, "month %d\n", month)
		}
	}
	return b.Bytes()
}

// publish pushes the image of a month, with more files, and returns its digest.
func (w *deltaFixture) publish(month int, more ...registrytest.File) string {
	w.t.Helper()
	base := []registrytest.File{{Name: "usr/", Mode: 0o755}, {Name: "usr/base", Data: program(1, 200<<10, 0)}}
	files := append([]registrytest.File{
		{Name: "app/", Mode: 0o755},
		{Name: "app/server", Data: program(2, 900<<10, month), Mode: 0o755},
		{Name: "app/same", Data: program(3, 100<<10, 0)},
		{Name: fmt.Sprintf("app/lib.so.%d", month), Data: program(4, 300<<10, month)},
	}, more...)
	img, err := registrytest.FilesImage(v1.Platform{OS: "linux", Architecture: "amd64"}, v1.Config{Labels: map[string]string{"month": fmt.Sprint(month)}}, base, files)
	if err != nil {
		w.t.Fatal(err)
	}
	_, digest, _ := strings.Cut(w.push("org/app:stable", img), "@")
	return digest
}

// written writes the disk of a month.
func (w *deltaFixture) written(disk string, args ...string) airgap.ExportResult {
	w.t.Helper()
	if !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--delta") }) {
		args = append(args, "--delta-time", "1m") // however busy the machine is
	}
	o := w.must(append([]string{"mirror", "-c", w.isc, fileScheme + w.path(disk), "--workspace", w.path("outside"), "--output", "json"}, args...)...)
	var result struct{ Archive *airgap.ExportResult }
	if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || result.Archive == nil {
		w.t.Fatalf("%v\n%s", err, o.stdout)
	}
	return *result.Archive
}

// imported imports disks into the mirror.
func (w *deltaFixture) imported(disks ...string) {
	w.t.Helper()
	w.must(append(w.from(disks...), "--workspace", w.path("inside"))...)
}

// from returns the command that imports disks.
func (w *deltaFixture) from(disks ...string) []string {
	args := []string{"mirror", w.docker("/site")}
	for _, d := range disks {
		args = append(args, "--from", fileScheme+w.path(d))
	}
	return args
}

// has checks that the mirror has the image of a month, with all its blobs.
func (w *deltaFixture) has(want string) {
	w.t.Helper()
	reader := &rawReader{url: w.mirror.URL(), read: map[string]*rawManifest{}}
	manifests := reader.tree(w.t, "site/org/app", "stable")
	if len(manifests) != 1 || manifests[0].Digest != want {
		w.t.Fatalf("the mirror has %+v, want %s", manifests, want)
	}
	for _, b := range append(manifests[0].Layers, manifests[0].Config) {
		status, _, body := rawRequest(w.t, http.MethodGet, w.mirror.URL()+"/v2/site/org/app/blobs/"+b.Digest)
		if status != http.StatusOK || digest.FromBytes(body).String() != b.Digest {
			w.t.Errorf("the mirror answers %d and %d bytes for %s", status, len(body), b.Digest)
		}
	}
}

// TestDeltas carries three months as deltas: directly after each other, and two disks at once.
func TestDeltas(t *testing.T) {
	t.Parallel()
	w := newDeltaFixture(t)
	w.publish(1)
	if r := w.written("disk1"); r.Deltas != nil {
		t.Errorf("the first archive has deltas: %+v", r.Deltas)
	}
	w.imported("disk1")
	second := w.publish(2)
	r := w.written("disk2")
	if d := r.Deltas; d == nil || d.Blobs != 1 || d.Bytes*5 > d.BlobBytes || !d.SiteUnknown {
		t.Fatalf("the second archive: %+v", r.Deltas)
	}
	w.imported("disk2")
	w.has(second)

	whole := w.written("whole", "--delta", "off", "--since", "1")
	if whole.Deltas != nil || whole.Bytes < 2*r.Bytes {
		t.Errorf("without deltas, the archive has %d bytes and %+v; with them %d", whole.Bytes, whole.Deltas, r.Bytes)
	}
	// The next two are imported together, and the base of the last is a delta itself.
	w.publish(3)
	w.written("disk3")
	third := w.publish(4)
	if r := w.written("disk4", "--delta", "max"); r.Deltas == nil || r.Deltas.Blobs != 1 {
		t.Errorf("the fourth archive: %+v", r.Deltas)
	}
	w.imported("disk4", "disk3")
	w.has(third)
	w.must("verify", w.docker("/site"), "--workspace", w.path("inside"))
}

// TestDeltasOfSites checks that an archive for a site that reads no deltas has none, whatever its Gantry
// wrote as a receipt.
func TestDeltasOfSites(t *testing.T) {
	t.Parallel()
	w := newDeltaFixture(t)
	w.publish(1)
	w.written("disk1")
	w.must(append(w.from("disk1"), "--workspace", w.path("inside"), "--write-receipt", w.path("receipt.json"))...)
	w.publish(2)
	if r := w.written("disk2", "--receipt", w.path("receipt.json")); r.Deltas == nil || r.Deltas.Blobs != 1 || r.Deltas.SiteUnknown {
		t.Errorf("with a receipt of this Gantry: %+v", r.Deltas)
	}
	var receipt map[string]any
	if err := json.Unmarshal([]byte(w.read("receipt.json")), &receipt); err != nil {
		t.Fatal(err)
	}
	delete(receipt, "reads") // as an earlier Gantry wrote it
	text, err := json.Marshal(receipt)
	if err != nil {
		t.Fatal(err)
	}
	w.write("old.json", string(text))
	if r := w.written("disk3", "--receipt", w.path("old.json")); r.Deltas == nil || r.Deltas.Blobs != 0 || !strings.Contains(r.Deltas.Refused, "does not read deltas") {
		t.Errorf("with a receipt of an earlier Gantry: %+v", r.Deltas)
	}
	w.publish(3)
	if r := w.written("disk4"); r.Deltas == nil || r.Deltas.Blobs != 0 || r.Deltas.Refused == "" {
		t.Errorf("after a receipt of an earlier Gantry: %+v", r.Deltas)
	}
}

// TestDeltaRepair imports deltas whose base is no longer at the site, and a damaged one. The request that is
// written brings the blob itself.
func TestDeltaRepair(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(w *deltaFixture){
		"lost base":     (*deltaFixture).loseBase,
		"damaged delta": (*deltaFixture).damageDelta,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "lost base" {
				long(t) // TestDeltaGap imports without the base of a delta
			}
			w := newDeltaFixture(t)
			w.publish(1)
			w.written("disk1")
			w.imported("disk1")
			second := w.publish(2)
			w.written("disk2")
			spoil(w)
			o := w.gantry(append(w.from("disk2"), "--workspace", w.path("inside"))...)
			request := w.path("inside/requests/ops-000002.json")
			want := exitMismatch
			if name == "lost base" {
				want = exitPartial
			}
			if o.code != want || !strings.Contains(o.stdout+o.stderr, request) {
				t.Fatalf("it ended with %d\n%s%s", o.code, o.stdout, o.stderr)
			}
			w.must("mirror", "--repair", request, fileScheme+w.path("repair"), "--workspace", w.path("outside"))
			w.imported("disk2", "repair")
			w.has(second)
		})
	}
}

// loseBase deletes from the storage of the mirror what the delta is based on.
func (w *deltaFixture) loseBase() {
	w.t.Helper()
	have, err := archive.Inspect(w.path("disk2"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer have.Close()
	for d := range have.Deltas() {
		for _, b := range d.Bases {
			w.mirror.Script(registrytest.Rule{Path: "/blobs/" + b.Digest.String(), Action: registrytest.Refuse(404, "BLOB_UNKNOWN")})
		}
	}
}

// damageDelta damages the delta on the disk.
func (w *deltaFixture) damageDelta() {
	w.t.Helper()
	have, err := archive.Inspect(w.path("disk2"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer have.Close()
	for e := range have.Entries() {
		if _, ok := have.BlobOf(e.Digest); ok {
			f, err := os.OpenFile(filepath.Join(w.path("disk2"), e.Volume), os.O_RDWR, 0)
			if err != nil {
				w.t.Fatal(err)
			}
			if _, err := f.WriteAt([]byte("damaged"), e.Offset+e.Size/2); err != nil {
				w.t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}
