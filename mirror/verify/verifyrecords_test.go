package verify_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
)

// named verifies one image set.
func named(name string) func(*verify.Options) {
	return func(o *verify.Options) { o.Name = name }
}

// deep also reads every blob.
func deep(o *verify.Options) { o.ReadBlobs = true }

// TestRecords verifies what the records of a mirror say, all of them or one.
func TestRecords(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	_, err := runs(s, s.Docker("none"))
	mirrortest.Refused(t, err, advice.Input, "it has no record of an image set", "set one of Options.Config")
	where := s.Docker("ocp")
	lock, p := s.PlanFile(s.Path("imageset.yaml"), "plan.json")
	s.Mirrored("", where, mirrortest.FromPlan(lock))
	other, one := s.PlanFile(s.Config("other.yaml", "  additionalImages:\n  - name: images.example.net/tools/must-gather:4.20\n    targetRepo: team/one\n"), "other.json")
	s.Record("ocp", "night", p)
	s.Record("ocp", "day", one)
	if r := s.Verified("", where, named("night")).Registry; len(r.ImageSets) != 1 || r.ImageSets[0].Images != len(p.Images) {
		t.Errorf("%+v", r.ImageSets)
	}
	r := mismatched(s, where)
	if len(r.Missing) != 1 || r.Missing[0].Repository != "team/one" || r.Images < len(p.Images)+1 {
		t.Errorf("%+v", r)
	}
	day := func(r *verify.VerifiedRegistry) verify.VerifiedImageSet {
		i := slices.IndexFunc(r.ImageSets, func(set verify.VerifiedImageSet) bool { return set.Name == "day" })
		if i < 0 || len(r.ImageSets) < 2 {
			t.Fatalf("%+v", r.ImageSets)
		}
		return r.ImageSets[i]
	}
	if set := day(r); set.Missing != 1 {
		t.Errorf("%+v", set)
	}
	s.Mirrored("", where, mirrortest.FromPlan(other))
	if set := day(s.Verified("", where, deep).Registry); set.Missing != 0 || set.Revision != 1 || set.Images != 1 || set.LastRun.Format(time.DateOnly) != "2026-11-01" {
		t.Errorf("%+v", set)
	}
	_, err = runs(s, where, named("x"))
	mirrortest.Refused(t, err, advice.Input, "has no record of the image set x")

	// A record that the mirror lost in part proves nothing.
	blobs := map[string]bool{}
	for _, repository := range mustList(s, "ocp/gantry-"+setrecord.Repository) {
		for _, d := range repository.Blobs {
			blobs[d.String()] = true
		}
	}
	if len(blobs) == 0 {
		t.Fatal("no records")
	}
	for d := range blobs {
		s.Delete("ocp/gantry-" + setrecord.Repository + "/blobs/" + d)
	}
	_, err = runs(s, where)
	mirrortest.Refused(t, err, advice.Mismatch, "image set", "write its record again")
}

// mustList lists repositories of the mirror.
func mustList(s *mirrortest.Site, prefix string) []registrytest.Repository {
	s.T.Helper()
	all, err := s.Mirror.Repositories(prefix)
	if err != nil || len(all) == 0 {
		s.T.Fatalf("%s: %v, %v", prefix, all, err)
	}
	return all
}

// TestPublishedCatalog checks that Run asks for what the catalog names that is still published because the newer one was
// withheld.
func TestPublishedCatalog(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	where := s.Docker("site")
	s.Mirrored(s.Operators("lantern"), where)
	s.Source.Script(registrytest.Rule{Path: "/tidewater/proxy/manifests/", Action: registrytest.Refuse(http.StatusNotFound, "MANIFEST_UNKNOWN")})
	_, err := mirroring.Run(t.Context(), s.MirrorOptions(s.Operators("tidewater"), where))
	mirrortest.Refused(t, err, advice.Partial)
	missing := func(part string) []mirror.MissingImage {
		t.Helper()
		r := mismatched(s, where)
		return slices.DeleteFunc(r.Missing, func(m mirror.MissingImage) bool { return !strings.Contains(m.Repository, part) })
	}
	if index := missing("operator-index"); len(index) != 1 || !strings.HasPrefix(index[0].Problem, "it is not published; the mirror still publishes sha256:") {
		t.Errorf("%+v", index)
	}
	if all := missing("lantern"); len(all) > 0 {
		t.Errorf("%+v", all)
	}
	for _, d := range mustList(s, "site/lantern/ui")[0].Tags {
		s.Delete("site/lantern/ui/manifests/" + d.String())
	}
	if all := missing("lantern/ui"); len(all) == 0 || !strings.Contains(all[0].Problem, "of revision 1, whose catalog is still published") {
		t.Errorf("%+v", all)
	}
}
