package mirroring_test

import (
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/pkg/window"
)

// requested writes the repair request of an archive to request.json.
func requested(s *mirrortest.Site, read archive.OpenOptions, folders ...string) *state.RepairRequest {
	s.T.Helper()
	r, _, err := open.RequestRepair(s.T.Context(), open.Options{Env: s.Env, Folders: folders, Read: read})
	if err == nil && !r.IsEmpty() {
		err = durable.Write(s.Path("request.json"), r.Write)
	}
	fail.On(s.T, err)
	return r
}

// repairing writes the repair that request.json asks for.
func repairing(s *mirrortest.Site, destination string, more ...change) (*mirroring.Result, error) {
	o := s.MirrorOptions("", destination)
	o.Repair = s.Path("request.json")
	for _, c := range more {
		c(&o)
	}
	return mirroring.Run(s.T.Context(), o)
}

// TestRepair repairs damaged content, the content of a lost volume and images that Gantry built, or a lost plan, and fills
// the mirror from both folders.
func TestRepair(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(s *mirrortest.Site, have *archive.Archive, p *plan.Plan){
		"blobs": spoilBuilt,
		"plan":  func(s *mirrortest.Site, _ *archive.Archive, _ *plan.Plan) { s.Remove("disk/gantry-000001.0001.tar") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "blobs" {
				mirrortest.Long(t)
			}
			s := mirrortest.New(t, registrytest.Options{})
			disk, have, p := s.Disk("disk")
			spoil(s, have, p)
			request := requested(s, archive.OpenOptions{}, disk)
			repair := s.Archive("repair")
			from := s.MirrorOptions("", s.Docker("repaired"))
			from.From, from.Workspace = []string{disk}, s.Path("inside")
			_, err := mirroring.Run(t.Context(), from)
			mirrortest.Refused(t, err, advice.Mismatch)
			var summary *mirroring.RunSummary
			reported := func(o *mirroring.Options) {
				o.MetricsFile, o.SummaryFile = s.Path("repair.prom"), s.Path("repair.md")
				o.Summarize = func(_ io.Writer, r *mirroring.RunSummary) error { summary = r; return nil }
			}
			if name != "plan" { // the plan is in the workspace
				s.Source.Script(registrytest.Rule{Action: registrytest.Status(http.StatusNotFound)})
				if _, err := repairing(s, repair, reported); advice.KindOf(err) != advice.Partial {
					t.Errorf("a repair without sources: %v", err)
				}
				s.Source.Script()
				reportsRepair(s, summary, "failed")
			}
			s.Source.ResetLog()
			r, err := repairing(s, repair, reported)
			if err != nil || r.Repaired.Sequence != 1 || r.Repaired.Content != len(request.Content) || r.Repaired.AlreadyPresent {
				t.Fatalf("%+v, %v", r, err)
			}
			reportsRepair(s, summary, "complete")
			if n, most := s.Source.Requests()["GET blob"], len(request.Content); n > most {
				t.Errorf("%d blobs were read, want at most %d", n, most)
			}
			if r, err := repairing(s, repair); err != nil || !r.Repaired.AlreadyPresent {
				t.Errorf("again: %+v, %v", r, err)
			}
			if r := requested(s, archive.OpenOptions{}, disk, repair); !r.IsEmpty() {
				t.Errorf("with the repair, %d blobs and manifests are missing", len(r.Content))
			}
			s.Imported(s.Docker("repaired"), disk, repair)
			v, err := verify.Run(t.Context(), verify.Options{Env: s.Env, Locations: []string{s.Docker("repaired")}, From: []string{disk, repair}, Workspace: s.Path("inside")})
			if err != nil {
				t.Errorf("%+v, %v", v, err)
			}
			s.VerifyCatalog("repaired", mirrortest.Acme, 4)
		})
	}
}

// spoilBuilt damages a blob and all of a catalog that was built, and loses a volume.
func spoilBuilt(s *mirrortest.Site, have *archive.Archive, p *plan.Plan) {
	s.T.Helper()
	blob := mirrortest.Largest(have, "gantry-000001.0002.tar")
	s.Spoil("disk", blob)
	s.Remove("disk/gantry-000001.0003.tar")
	built := slices.IndexFunc(p.Images, func(img plan.Image) bool { return img.Kind == plan.CatalogImage })
	contents, err := p.Contents()
	fail.On(s.T, err)
	lost := map[digest.Digest]bool{}
	err = contents.Walk(p.Images[built].Digest,
		func(m *plan.Manifest) error { lost[m.Digest] = true; return nil },
		func(b plan.Blob) error { lost[b.Digest] = true; return nil })
	fail.On(s.T, err)
	for e := range have.Entries() {
		if lost[e.Digest] && e.Volume != "gantry-000001.0003.tar" && e.Digest != blob.Digest {
			s.Spoil("disk", e)
		}
	}
}

// reportsRepair checks what is reported about the last repair: its metrics, its summary, and the status of the workspace.
func reportsRepair(s *mirrortest.Site, summary *mirroring.RunSummary, result string) {
	s.T.Helper()
	metrics := s.Read("repair.prom")
	for name, want := range map[string]bool{
		`gantry_run_result{image_set="imageset",destination="` + s.Archive("repair") + `",result="` + result + `"} 1`: true,
		"gantry_repair_requested{": true, "gantry_run_copied_bytes{": true,
		"gantry_run_images": false, "gantry_archive_next_sequence": false, "gantry_last_success": result == "complete",
	} {
		if strings.Contains(metrics, name) != want {
			s.T.Errorf("metrics of a repair that is %s have %s: %t\n%s", result, name, !want, metrics)
		}
	}
	if r := summary.Run; string(r.Result) != result || !r.Repair || r.Sequence != 1 {
		s.T.Errorf("the summary has %+v", r)
	}
	status, err := workspace.Status(s.Workspace())
	fail.On(s.T, err)
	if !slices.ContainsFunc(status.Runs, func(r state.Run) bool {
		return r.Repair && r.Sequence == 1 && string(r.Result) == result && r.Destination == s.Archive("repair")
	}) {
		s.T.Errorf("no repair that is %s is in %+v", result, status.Runs)
	}
	if log, err := workspace.Audit(s.Workspace(), -1); err != nil || log.Last[len(log.Last)-1].Result != result {
		s.T.Errorf("the audit log: %+v, %v", log, err)
	}
}

// TestRepairOfSequence repairs an archive that builds on another, with only the content that the connected side sends for it.
func TestRepairOfSequence(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := newSeries(t)
	s.written(1, "disk1")
	s.written(2, "disk2")
	have, _ := s.OpenArchive(s.Archive("disk2"))
	spoilt := 0
	for e := range have.Entries() {
		// A source has only layers of this size; smaller content may be of the catalog, which was built here.
		if e.IsContent && e.Size > 10_000 && spoilt < 3 {
			s.Spoil("disk2", e)
			spoilt++
		}
	}
	requested(s.Site, archive.OpenOptions{}, s.Archive("disk2"))
	s.Source.ResetLog()
	repair := s.Archive("repair")
	r, err := repairing(s.Site, repair, func(o *mirroring.Options) { o.Window = []window.Window{{End: 24 * time.Hour}} })
	if err != nil || r.Repaired.Sequence != 2 || r.Repaired.Content != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	if n := s.Source.Requests()["GET blob"]; n > 3 {
		t.Errorf("%d blobs were read for a repair of 3", n)
	}
	s.imports("site", "disk1")
	_, err = s.importing("bare", []string{"disk1", "disk2"})
	mirrortest.Refused(t, err, advice.Mismatch)
	s.imports("site", "disk2", "repair")
	s.VerifyCatalog("site", mirrortest.Acme, 4)

	_, err = repairing(s.Site, s.Docker("x"))
	mirrortest.Refused(t, err, advice.Input, "Options.Repair writes an archive")
	s.Source.Script(registrytest.Rule{Action: registrytest.Status(http.StatusNotFound)})
	s.Remove("workspace/cache")
	_, err = repairing(s.Site, s.Archive("repair2"))
	mirrortest.Refused(t, err, advice.Partial, "no source has 3 blobs and manifests", "run it again")
	if !s.said("not written: sha256:") {
		t.Error("what was not written was not named")
	}
	s.Source.Script()
	_, err = repairing(s.Site, s.Archive("repair2"))
	fail.On(t, err)
	s.Write("request.json", `{"kind":"other"}`)
	_, err = repairing(s.Site, repair)
	mirrortest.Refused(t, err, advice.Input, "request", "kind")
}

// TestDamagedSequenceWithoutItsPackage excludes the package of an image that is damaged on the disk. The catalog is built
// again from layers that only the mirror has. A repair adds the package.
func TestDamagedSequenceWithoutItsPackage(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := newSeries(t)
	s.written(1, "disk1")
	s.written(2, "disk2")
	s.imports("site", "disk1")
	have, p := s.OpenArchive(s.Archive("disk2"))
	spoilt := false
	for e := range have.Entries() {
		if !e.IsContent || e.Size < 1000 || spoilt {
			continue
		}
		holders, err := mirror.ImagesByContent(p, []digest.Digest{e.Digest})
		fail.On(t, err)
		if all := holders[e.Digest]; len(all) == 1 && strings.HasSuffix(all[0].Repository, "tidewater/server") {
			s.Spoil("disk2", e)
			spoilt = true
		}
	}
	if !spoilt {
		t.Fatal("no blob is only of tidewater/server")
	}
	r, err := s.importing("site", []string{"disk2"}, onErrorPackage)
	mirrortest.Refused(t, err, advice.Mismatch, "1 package is excluded")
	if x := r.Report.Excluded; len(x) != 1 || x[0].Package != "tidewater" || !strings.Contains(x[0].Catalog, mirrortest.Acme) {
		t.Errorf("excluded: %+v", x)
	}
	s.VerifyCatalog("site", mirrortest.Acme, 1)
	requested(s.Site, archive.OpenOptions{}, s.Archive("disk2"))
	_, err = repairing(s.Site, s.Archive("repair"))
	fail.On(t, err)
	_, err = s.importing("site", []string{"disk2", "repair"}, onErrorPackage)
	fail.On(t, err)
	s.VerifyCatalog("site", mirrortest.Acme, 4)

	// If the mirror does not have these layers either, the catalog is withheld.
	s.imports("other", "disk1")
	s.Mirror.Script(registrytest.Rule{Method: http.MethodGet, Path: "/operator-index/blobs/", Action: registrytest.Status(http.StatusNotFound)})
	r, err = s.importing("other", []string{"disk2"}, onErrorPackage)
	mirrortest.Refused(t, err, advice.Mismatch)
	if w := r.Report.Withheld; len(w) != 1 || !strings.Contains(w[0].Reason, "gantry-000001.json") || len(r.Report.Excluded) > 0 {
		t.Errorf("withheld: %+v, excluded: %+v", r.Report.Withheld, r.Report.Excluded)
	}
}

// TestLargeDamage mirrors an archive large enough that Gantry leaves hashing to the registry, with a damaged blob, to a
// real registry and to one that stores anything. Both runs end in the same way, and after a repair the mirror is complete.
func TestLargeDamage(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := mirrortest.New(t, registrytest.Options{})
	var references []string
	for _, name := range []string{"one", "two", "three"} {
		img, err := registrytest.SizedImage("large "+name, 24<<20)
		fail.On(t, err)
		s.Push("large/"+name+":v1", img)
		references = append(references, s.Source.Host+"/large/"+name+":v1")
	}
	disk := s.Exported(s.Images(references...), "disk")
	have, _ := s.OpenArchive(disk)
	damaged := mirrortest.Largest(have, "gantry-000001.0001.tar")
	s.Spoil("disk", damaged)
	careless := registrytest.Serve(t, registrytest.Options{}, registrytest.Careless())
	s.Write("registries.conf", s.Read("registries.conf")+"\n[[registry]]\nlocation = \""+careless.Host+"\"\ninsecure = true\n")
	for _, registry := range []*registrytest.Server{s.Mirror, careless} {
		o := s.MirrorOptions("", "docker://"+registry.Host)
		o.From, o.Workspace = []string{disk}, s.Path("site "+registry.Host)
		r, err := mirroring.Run(t.Context(), o)
		mirrortest.Refused(t, err, advice.Mismatch, "1 image is not mirrored")
		if f := r.Report.Failed; len(f) != 1 || !strings.Contains(f[0].Reason, "is damaged: gantry-000001.0001.tar: blobs/sha256/"+damaged.Digest.Encoded()+" at offset ") {
			t.Errorf("failed: %+v", f)
		}
		stored, refused, published := 0, 0, 0
		for _, q := range registry.Log() {
			switch {
			case q.Kind() == "PUT manifest" && strings.Contains(q.Path, "/large/"):
				published++
			case q.Kind() != "PUT upload":
			case q.Digest() == damaged.Digest && q.Status == http.StatusCreated:
				stored++
			case q.Status == http.StatusBadRequest:
				refused++
			}
		}
		if stored > 0 || published != 2 {
			t.Errorf("the damaged blob was stored %d times, and %d images were published", stored, published)
		}
		if registry == s.Mirror && refused != 2 {
			t.Errorf("the registry refused %d uploads: want the proof and the damaged blob", refused)
		}
	}
	requested(s, archive.OpenOptions{}, disk)
	_, err := repairing(s, s.Archive("repair"))
	fail.On(t, err)
	s.Imported(s.Docker(""), disk, s.Archive("repair"))
	for _, name := range []string{"one", "two", "three"} {
		_, err := s.Mirror.Client().Pull(t.Context(), "large/"+name, "v1")
		fail.On(t, err)
	}
}

// TestArchiveDiskRemoved removes the disk of an archive while it is written, and while it is read. The same runs continue
// when it is back.
func TestArchiveDiskRemoved(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := mirrortest.New(t, registrytest.Options{})
	s.Source.Script(registrytest.Rule{Method: http.MethodGet, Path: "/blobs/", Nth: 20, Action: mirrortest.Once(func() {
		s.Remove("disk")
		if err := os.Mkdir(s.Path("disk"), 0o755); err != nil {
			t.Error(err)
		}
	})})
	small := func(o *mirroring.Options) { o.VolumeSize = 500_000 }
	o := s.MirrorOptions(s.Path("imageset.yaml"), s.Archive("disk"))
	small(&o)
	if _, err := mirroring.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), s.Path("disk")) {
		t.Errorf("the removed disk: %v", err)
	}
	if left, err := os.ReadDir(s.Path("disk")); err != nil || len(left) > 0 {
		t.Errorf("the folder has %v, %v", left, err)
	}
	s.Source.Script()
	disk, have, _ := s.Disk("disk")
	fail.On(t, os.CopyFS(s.Path("spare"), os.DirFS(s.Path("disk"))))
	s.Mirror.Script(registrytest.Rule{Method: http.MethodPost, Path: "/blobs/uploads/", Nth: 10, Action: mirrortest.Once(func() {
		for _, v := range have.Selected().Volumes {
			if err := os.Truncate(s.Path("disk/"+v.Name), 0); err != nil {
				t.Error(err)
			}
		}
	})})
	from := s.MirrorOptions("", s.Docker("gone"))
	from.From, from.Workspace = []string{disk}, s.Path("inside")
	_, err := mirroring.Run(t.Context(), from)
	mirrortest.Refused(t, err, advice.Mismatch)
	s.Mirror.Script()
	s.Imported(s.Docker("gone"), s.Archive("spare"))
	s.VerifyCatalog("gone", mirrortest.Acme, 4)
}
