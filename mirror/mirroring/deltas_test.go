package mirroring_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/archive/inspect"
	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/archive/rebuild"
	"github.com/gantry-mirror/gantry/mirror/extract"
	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// TestDeltas carries months as deltas: directly after each other, and two disks at once.
func TestDeltas(t *testing.T) {
	t.Parallel()
	s := newDeltas(t)
	s.publish(1)
	if r := s.disk("disk1"); r.Deltas != nil {
		t.Errorf("the first archive has deltas: %+v", r.Deltas)
	}
	s.imports("site", "disk1")
	second := s.publish(2)

	// What would be compared is planned without a request for a blob.
	s.Source.ResetLog()
	planned, err := planning.Make(t.Context(), planning.Options{Env: s.Env, Selection: selection.Selection{Config: s.months[0]}, Name: "ops", Workspace: s.Workspace(), Destination: s.Archive("disk2")})
	fail.On(t, err)
	if slices.ContainsFunc(mirrortest.Requests(s.Source, http.MethodGet), func(r string) bool { return strings.Contains(r, "/blobs/"+s.layers[second]) }) {
		t.Error("a plan read the new layer")
	}
	r := s.disk("disk2")
	s.count(r, 1)
	if d := r.Deltas; d.Bytes*5 > d.BlobBytes || !d.SiteUnknown || planned.Deltas == nil || planned.Deltas.Blobs != d.Blobs || planned.Deltas.Bytes != d.BlobBytes {
		t.Errorf("%+v was planned, and %+v written", planned.Deltas, d)
	}
	s.imports("site", "disk2")
	s.has("site", second)
	whole := s.disk("whole", delta(mirroring.DeltaOff), since(1))
	if whole.Deltas != nil || whole.Bytes < 2*r.Bytes {
		t.Errorf("without deltas, the archive has %d bytes and %+v; with them %d", whole.Bytes, whole.Deltas, r.Bytes)
	}
	// The next two are imported together, and the base of the last is a delta itself.
	s.publish(3)
	s.disk("disk3")
	fourth := s.publish(4)
	s.count(s.disk("disk4", delta(mirroring.DeltaMax)), 1)
	s.imports("site", "disk4", "disk3")
	s.has("site", fourth)
}

// TestDeltasOfSites checks that an archive for a site that reads no deltas has none, and that what a site did not get is
// no base.
func TestDeltasOfSites(t *testing.T) {
	t.Parallel()
	s := newDeltas(t)
	s.publish(1)
	s.disk("disk1")
	_, err := s.importing("site", []string{"disk1"}, s.giving("receipt.json"))
	fail.On(t, err)
	second := s.publish(2)
	r := s.disk("disk2", s.receiving("receipt.json"))
	if s.count(r, 1); r.Deltas.SiteUnknown {
		t.Errorf("with a receipt of this Gantry: %+v", r.Deltas)
	}
	// The last import is partial: the site does not get the new layer.
	s.Mirror.Script(registrytest.Rule{Method: http.MethodPut, Path: "/org/app/manifests/", Action: registrytest.Refuse(http.StatusBadRequest, "MANIFEST_INVALID")})
	_, err = s.importing("site", []string{"disk2"}, s.giving("partial.json"))
	mirrortest.Refused(t, err, advice.Partial)
	s.Mirror.Script()
	third := s.publish(3)
	s.disk("disk3", s.receiving("partial.json"))
	if slices.Contains(s.bases("disk3"), s.layers[second]) {
		t.Error("it is based on the layer that the site did not get")
	}
	s.imports("site", "disk3")
	s.has("site", third)

	// A Gantry that reads deltas, but no compact archives.
	var receipt map[string]any
	fail.On(t, json.Unmarshal([]byte(s.Read("receipt.json")), &receipt))
	receipt["reads"].(map[string]any)["features"] = []string{"builds-on", "deltas"}
	write := func() {
		text, err := json.Marshal(receipt)
		fail.On(t, err)
		s.Write("old.json", string(text))
	}
	write()
	r = s.disk("old", s.receiving("old.json"), compact(mirroring.DeltaMax), delta(mirroring.DeltaMax))
	if s.count(r, 0); !strings.Contains(r.Deltas.Refused, "does not read compact archives") || strings.Contains(r.Deltas.Refused, "Options.") {
		t.Errorf("with a receipt of a Gantry without compact archives: %+v", r.Deltas)
	}
	s.publish(4)

	// An earlier Gantry does not say what it reads.
	delete(receipt, "reads")
	write()
	for _, more := range [][]change{{s.receiving("old.json")}, nil} {
		r := s.disk("old", more...)
		if s.count(r, 0); !strings.Contains(r.Deltas.Refused, "does not read deltas") {
			t.Errorf("with or after a receipt of an earlier Gantry: %+v", r.Deltas)
		}
		s.publish(5)
	}
}

// TestDeltaGap imports an archive whose deltas need an archive that the site never got, and deltas of what a registry does
// not send. Nothing is pushed.
func TestDeltaGap(t *testing.T) {
	t.Parallel()
	s := newDeltas(t)
	s.publish(1)
	s.disk("disk1")
	s.imports("site", "disk1")
	s.publish(2)
	s.disk("disk2")
	third := s.publish(3)
	s.disk("disk3")
	s.Mirror.ResetLog()
	_, err := s.importing("site", []string{"disk3"})
	mirrortest.Refused(t, err, advice.Mismatch, "sequence 3 builds on 2, which this workspace has not imported", "bring gantry-000002 too")
	refused := registrytest.Rule{Method: http.MethodGet, Path: "/blobs/sha256", Action: registrytest.Refuse(http.StatusForbidden, "DENIED")}
	for _, rules := range [][]registrytest.Rule{{refused}, {refused, {Method: http.MethodHead, Path: "/blobs/sha256", Action: registrytest.Refuse(http.StatusForbidden, "DENIED")}}} {
		s.Mirror.Script(rules...)
		_, err := s.importing("site", []string{"disk2"})
		mirrortest.Refused(t, err, advice.Unauthorized, "as deltas of blobs that the mirror refuses to send", " needs sha256:", "bring gantry-000001 too")
	}
	for _, r := range changes(s.Site) {
		if strings.Contains(r, "/site/org/") && !strings.HasPrefix(r, http.MethodPost) {
			t.Errorf("the run sent %s", r)
		}
	}
	s.Mirror.Script(refused)
	s.imports("site", "disk2", "disk1")
	s.imports("site", "disk2") // the mirror has everything
	s.Mirror.Script()
	s.imports("site", "disk3", "disk2")
	s.has("site", third)
	// Another workspace knows of no import, and the mirror has what is needed.
	s.Remove("at-site")
	s.imports("site", "disk3")
}

// TestDeltaRepair imports deltas whose base is no longer at the site, and a damaged one. The request that is written brings
// the blob itself.
func TestDeltaRepair(t *testing.T) {
	t.Parallel()
	s := newDeltas(t)
	s.publish(1)
	s.disk("disk1")
	for _, site := range []string{"lost", "damaged"} {
		s.imports(site, "disk1")
	}
	second := s.publish(2)
	s.disk("disk2")
	s.lose(s.bases("disk2")...)
	_, err := s.importing("lost", []string{"disk2"})
	mirrortest.Refused(t, err, advice.Partial)
	s.Mirror.Script()
	have, err := archive.Inspect(s.Path("disk2"))
	fail.On(t, err)
	for e := range have.Entries() {
		if _, ok := have.BlobOf(e.Digest); ok {
			s.Spoil("disk2", e)
		}
	}
	fail.On(t, have.Close())
	r, err := s.importing("damaged", []string{"disk2"})
	mirrortest.Refused(t, err, advice.Mismatch)
	fail.Diff(t, s.Path("at-damaged/requests/ops-000002.json"), r.RepairRequest)
	for _, site := range []string{"lost", "damaged"} {
		if err := s.repaired(site, 2, "repair-"+site); err != nil {
			t.Fatalf("%s: %v", site, err)
		}
		s.imports(site, "disk2", "repair-"+site)
		s.has(site, second)
	}
}

// TestDeltaVolumes carries deltas that are split over small volumes with parity, loses a volume, and rebuilds it.
func TestDeltaVolumes(t *testing.T) {
	t.Parallel()
	s := newDeltas(t)
	s.publish(1)
	s.disk("disk1")
	s.imports("site", "disk1")
	second := s.publish(2, registrytest.File{Name: "app/new", Data: monthly(5, 200<<10, 2)})
	s.count(s.disk("disk2", volumesOf(50_000), func(o *mirroring.Options) { o.Redundancy = 30 }), 1)
	have, err := archive.Inspect(s.Path("disk2"))
	fail.On(t, err)
	var volumes []string // with parts of the delta
	for e := range have.Entries() {
		if _, ok := have.BlobOf(e.Digest); ok {
			volumes = append(volumes, e.Volume)
		}
	}
	if err := have.Close(); err != nil || len(slices.Compact(volumes)) < 2 {
		t.Fatalf("the delta is in %v, %v", volumes, err)
	}
	fail.On(t, os.Remove(filepath.Join(s.Path("disk2"), volumes[0])))
	_, err = s.importing("site", []string{"disk2"})
	mirrortest.Refused(t, err, advice.Mismatch, "gantry archive rebuild")
	_, err = rebuild.Archive(t.Context(), rebuild.Options{Options: open.Options{Env: s.Env, Folders: []string{s.Archive("disk2")}}})
	fail.On(t, err)
	_, err = s.verify("disk2")
	fail.On(t, err)
	s.imports("site", "disk2")
	s.has("site", second)
}

// TestDeltaSealed carries deltas in signed and encrypted archives: what shows without the identity, and the repair of a
// layer whose base was lost.
func TestDeltaSealed(t *testing.T) {
	t.Parallel()
	s := newDeltas(t)
	identity, recipient := s.AgeKey("identity.txt", "")
	key, _ := s.SSHKey("ops", "")
	sealed := []change{s.EncryptedTo(recipient), s.SignedWith(key)}
	read := archive.OpenOptions{Identities: s.Identities(identity), Signatures: s.Policy(key)}
	first := s.publish(1)
	s.disk("disk1", sealed...)
	_, err := s.importing("site", []string{"disk1"}, reading(read))
	fail.On(t, err)
	second := s.publish(2)
	s.count(s.disk("disk2", sealed...), 1)
	_, err = s.verify("disk2")
	fail.On(t, err)
	for deltas, read := range map[int]archive.OpenOptions{0: {}, 1: read} {
		i, err := inspect.Archive(t.Context(), open.Options{Env: s.Env, Folders: []string{s.Archive("disk2")}, Read: read})
		if err != nil || i.Sets[0].Deltas != deltas || slices.Contains(i.Sets[0].Features, "deltas") != (deltas == 1) {
			t.Errorf("%+v, %v, want %d deltas", i, err, deltas)
		}
	}
	s.lose(s.layers[first])
	r, err := s.importing("site", []string{"disk2"}, reading(read))
	mirrortest.Refused(t, err, advice.Partial)
	if r.RepairRequest == "" {
		t.Error("nothing is requested")
	}
	mirrortest.Refused(t, s.repaired("site", 2, "repair"), advice.Input, "its repair would not be")
	fail.On(t, s.repaired("site", 2, "repair", sealed...))
	_, err = s.importing("site", []string{"disk2", "repair"}, reading(read))
	fail.On(t, err)
	s.Mirror.Script()
	s.has("site", second)
}

// TestExtractDeltas extracts an archive with deltas: with the mirror, with a layout, with the earlier disk, and with none.
func TestExtractDeltas(t *testing.T) {
	t.Parallel()
	s := newDeltas(t)
	s.publish(1)
	s.disk("disk1")
	s.imports("site", "disk1")
	s.publish(2)
	s.disk("disk2")
	to := func(name string, disk string, bases ...string) error {
		_, err := extract.Images(t.Context(), extract.Options{Options: open.Options{Env: s.Env, Folders: []string{s.Archive(disk)}}, To: s.Path(name), Bases: bases})
		return err
	}
	fail.On(t, to("layout", "disk1"))
	err := to("alone", "disk2")
	mirrortest.Refused(t, err, advice.Partial, "name the folders of the archives before it, too, or what has their content with ExtractOptions.Bases")
	for name, base := range map[string]string{"mirror": s.Docker("site"), "layout": "oci://" + s.Path("layout"), "disk": s.Archive("disk1")} {
		if err := to("to-"+name, "disk2", base); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		// The layout has all blobs: it can be mirrored.
		s.Mirrored(s.Images("oci://"+s.Path("to-"+name)+"\n    targetRepo: org/"+name+"\n    targetTag: v2"), s.Docker("layouts"))
	}
}

// TestDeltaSince writes archives that build on each of the sequences before them.
func TestDeltaSince(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := newDeltas(t)
	images := []string{""}
	for month := 1; month <= 3; month++ {
		images = append(images, s.publish(month))
		s.disk("disk" + strconv.Itoa(month))
	}
	fourth := s.publish(4)
	for n := 1; n <= 3; n++ {
		name, site := "since"+strconv.Itoa(n), "site"+strconv.Itoa(n)
		r := s.disk(name, since(n))
		if s.count(r, 1); r.BuildsOn != n || !slices.Equal(s.bases(name), []string{s.layers[images[n]]}) {
			t.Errorf("since %d: it builds on %d, and on %v", n, r.BuildsOn, s.bases(name))
		}
		s.imports(site, "disk1")
		folders := []string{name}
		for k := 2; k <= n; k++ {
			folders = append(folders, "disk"+strconv.Itoa(k))
		}
		s.imports(site, folders...)
		s.has(site, fourth)
	}
}

// TestDeltaPruned prunes the site between two archives, and its registry collects garbage. An archive that follows the last
// import needs nothing that was deleted. One for an earlier sequence does, and its repair brings it.
func TestDeltaPruned(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := newDeltas(t)
	old := s.layers[s.publish(1)]
	s.disk("disk1")
	s.imports("site", "disk1")
	s.publish(2)
	s.disk("disk2")
	_, err := s.importing("site", []string{"disk2"}, s.giving("site.json"))
	fail.On(t, err)
	pruned, err := removal.Prune(t.Context(), removal.PruneOptions{Env: s.Env, Mirror: s.Docker("site"), Workspace: s.Path("at-site"), Yes: true})
	if err != nil || pruned.Plan.Empty() {
		t.Fatalf("%+v, %v", pruned, err)
	}
	third := s.publish(3)
	s.disk("earlier", since(1))
	s.lose(old)
	_, err = s.importing("site", []string{"earlier"})
	mirrortest.Refused(t, err, advice.Partial)
	fail.On(t, s.repaired("site", 3, "repair"))
	s.imports("site", "earlier", "repair")
	s.has("site", third)
	fourth := s.publish(4)
	if s.count(s.disk("receipt", s.receiving("site.json")), 1); slices.Contains(s.bases("receipt"), old) {
		t.Errorf("based on %v", s.bases("receipt"))
	}
	s.imports("site", "receipt")
	s.has("site", fourth)
}
