package mirroring_test

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestLostOmittedContent checks that an import names the content that the archive omits and the site has lost. An archive
// written with the receipt of the site contains it.
func TestLostOmittedContent(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := newSeries(t)
	s.written(1, "disk1")
	s.written(2, "disk2")
	s.imports("site", "disk1")
	have, p := s.OpenArchive(s.Archive("disk2"))
	lost, repository := "", ""
	for _, b := range p.Blobs {
		if where := have.RepositoryOf(b.Digest); where != "" {
			lost, repository = b.Digest.String(), where
		}
	}
	if lost == "" {
		t.Fatal("no new image needs a blob that was left out")
	}
	s.Mirror.Script(
		registrytest.Rule{Path: "/blobs/" + lost, Action: registrytest.Status(http.StatusNotFound)},
		registrytest.Rule{Method: http.MethodPost, Query: "mount=.*" + strings.TrimPrefix(lost, "sha256:"), Action: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			r.URL.RawQuery = ""
			next.ServeHTTP(w, r)
		}},
	)
	// With CheckBlobs, the receipt lists only blobs that the mirror was asked for and has.
	for _, checked := range []bool{false, true} {
		r, err := s.importing("site", []string{"disk2"}, func(o *mirroring.Options) { o.WriteReceipt, o.CheckBlobs = s.Path("site.json"), checked })
		mirrortest.Refused(t, err, advice.Partial)
		if !slices.ContainsFunc(r.Report.Failed, func(f mirror.Failure) bool { return strings.Contains(f.Reason, lost) }) {
			t.Errorf("failed: %+v", r.Report.Failed)
		}
		receipt := s.receipt("site.json")
		for _, at := range receipt.Repositories {
			for _, b := range at.Blobs {
				if b.Digest.String() == lost && (at.Name != repository || checked) {
					t.Errorf("the receipt has %s in %s", lost, at.Name)
				}
			}
		}
		if len(receipt.Sets) != 1 || receipt.Sets[0].Sequence != 1 {
			t.Errorf("the receipt has %v", receipt.Sets)
		}
	}
	s.written(3, "disk3", func(o *mirroring.Options) { o.Receipts = []string{s.Path("site.json")} })
	third, _ := s.OpenArchive(s.Archive("disk3"))
	brought := false
	for d := range third.Digests() {
		brought = brought || d.String() == lost
	}
	if !brought {
		t.Errorf("the next archive does not have %s", lost)
	}
	s.Mirror.Script()
	s.imports("site", "disk3")
	s.VerifyCatalog("site", mirrortest.Acme, 4)
}

// TestEmptiedMirror checks that an import fails before it copies anything if the mirror has lost the content that the
// workspace records as imported.
func TestEmptiedMirror(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := newSeries(t)
	s.written(1, "disk1")
	s.written(2, "disk2")
	s.imports("site", "disk1")
	receipts := func() string {
		files, err := filepath.Glob(s.Path("at-site/receipts/*/ops.json"))
		if err != nil || len(files) != 1 {
			t.Fatalf("the receipts are %v, %v", files, err)
		}
		return s.Read(strings.TrimPrefix(files[0], s.Dir))
	}
	before := receipts()
	s.Mirror.Script(registrytest.Rule{Method: http.MethodHead, Path: "/v2/site/", Action: registrytest.Status(http.StatusNotFound)})
	s.Mirror.ResetLog()
	_, err := s.importing("site", []string{"disk2"})
	mirrortest.Refused(t, err, advice.Mismatch, "sequence 2 builds on 1, which this workspace imported, but the mirror has lost it", "bring gantry-000001 too")
	if sent := changes(s.Site); len(sent) > 0 {
		t.Errorf("the mirror was changed: %v", sent)
	}
	fail.Diff(t, before, receipts())
	s.Mirror.Script()
	s.imports("site", "disk2")
	s.VerifyCatalog("site", mirrortest.Acme, 4)
	// The mirror has nothing under other names.
	renamed := func(o *mirroring.Options) { o.MaxNestedPaths = 2 }
	_, err = s.importing("site", []string{"disk2"}, renamed)
	mirrortest.Refused(t, err, advice.Mismatch, "or has it under other names")
	_, err = s.importing("site", []string{"disk2", "disk1"}, renamed)
	fail.On(t, err)
}

// TestIncompleteArchive imports archives that were written while an image was missing at the source.
func TestIncompleteArchive(t *testing.T) {
	t.Parallel()
	s := newSeries(t)
	s.Source.Script(registrytest.Rule{Path: "/lantern/store/manifests/", Action: registrytest.Status(http.StatusNotFound)})
	_, err := s.write(1, "disk1")
	mirrortest.Refused(t, err, advice.Partial)
	r, err := s.importing("site", []string{"disk1"})
	mirrortest.Refused(t, err, advice.Partial)
	if len(r.Withheld) != 1 {
		t.Errorf("withheld: %+v", r.Withheld)
	}
	// The receipt does not list an archive if the site excluded packages of it.
	_, err = s.write(2, "more", func(o *mirroring.Options) { o.Workspace = s.Path("elsewhere") })
	mirrortest.Refused(t, err, advice.Partial)
	_, err = s.importing("excluding", []string{"more"}, onErrorPackage, func(o *mirroring.Options) { o.WriteReceipt = s.Path("site.json") })
	mirrortest.Refused(t, err, advice.Partial)
	if r := s.receipt("site.json"); len(r.Sets) != 0 || r.Plan != "" {
		t.Errorf("packages were left out, and the receipt has %v", r.Sets)
	}
	// The next archive contains the catalog that the site withheld.
	s.Source.Script()
	s.written(1, "disk2")
	s.imports("site", "disk2")
	s.VerifyCatalog("site", mirrortest.Acme, 1)
}

// TestUnfinishedSequence checks that existing archives stay unchanged while an archive that builds on them is incomplete,
// and that the incomplete archive can be finished without a package.
func TestUnfinishedSequence(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := newSeries(t)
	s.written(1, "disk")
	before := s.Read("disk/gantry-000001.0001.tar")
	s.Source.Script(registrytest.Rule{Method: http.MethodGet, Path: "/tidewater/server/blobs/", Action: registrytest.Status(http.StatusNotFound)})
	_, err := s.write(2, "disk")
	mirrortest.Refused(t, err, advice.Partial)
	if s.Read("disk/gantry-000001.0001.tar") != before || s.manifests("disk") != "000001" {
		t.Errorf("the folder has %s", s.manifests("disk"))
	}
	r, err := s.write(2, "disk", onErrorPackage)
	mirrortest.Refused(t, err, advice.Partial)
	s.sequence(r, 2, 1)
	s.imports("site", "disk")
	s.VerifyCatalog("site", mirrortest.Acme, 1)
	s.Source.Script()
	s.sequence(s.written(2, "third"), 3, 2)
	s.imports("site", "third")
	s.VerifyCatalog("site", mirrortest.Acme, 4)
	if s.Exists("disk/.gantry-partial") {
		t.Error("unfinished files are left")
	}
}
