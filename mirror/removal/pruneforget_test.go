package removal_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/mirror/prune"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestPruneForget gives up image sets: what only they need is deleted, also their catalogs and records. Another workspace
// that knows them continues, and a run records the image set anew.
func TestPruneForget(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := mirrortest.New(t, registrytest.Options{})
	where := s.Docker("site")
	edge := s.Config("edge.yaml", "  additionalImages:\n  - name: images.example.net/tools/netcheck:1.4\n")
	s.Mirrored(edge, where)
	alone := s.Tags("site")
	isc := s.Operators("lantern", "tidewater")
	s.Mirrored(isc, where)
	s.Mirrored(edge, where, func(o *mirroring.Options) { o.Workspace = s.Path("other") })
	_, err := prunes(s, forget("imagest"))
	mirrortest.Refused(t, err, advice.Input, `no image set "imagest"`, "use one of: edge, imageset")

	s.Said()
	saved := s.Path("forget.json")
	r := pruned(s, forget("imageset"), func(o *removal.PruneOptions) { o.Save = saved })
	deletes := func(word string) bool {
		return slices.ContainsFunc(r.Plan.Manifests, func(m prune.Manifest) bool { return strings.Contains(m.Repository, word) })
	}
	if !deletes("operator-index") || !deletes("tidewater") || deletes("netcheck") || r.Forgotten == nil || r.Forgotten.Done || r.Plan.Forgets != "imageset" {
		t.Errorf("%+v", r)
	}
	if said := s.Said(); !slices.ContainsFunc(said, func(text string) bool { return strings.Contains(text, "minutes ago") }) {
		t.Errorf("%q", said)
	}
	s.Verified("", where)
	fromPlan := func(o *removal.PruneOptions) { o.Plan = saved }
	_, err = prunes(s, forget("edge"), fromPlan)
	mirrortest.Refused(t, err, advice.Input, `was not made with Options.Forget "edge"`)

	// If the catalog cannot be deleted, nothing that it names is.
	s.Mirror.Script(registrytest.Rule{Method: http.MethodDelete, Path: "/operator-index/", Action: registrytest.Refuse(http.StatusForbidden, "DENIED")})
	_, err = prunes(s, forget("imageset"), yes)
	mirrortest.Refused(t, err, advice.Partial)
	s.Mirror.Script()
	s.Verified("", where)

	r = pruned(s, fromPlan)
	if r.Forgotten == nil || !r.Forgotten.Done || r.Resources == nil || slices.ContainsFunc(r.Resources.Files, func(name string) bool { return strings.HasPrefix(name, "cs-") }) {
		t.Errorf("%+v, %+v", r.Forgotten, r.Resources)
	}
	if have := s.Tags("site"); !slices.Equal(have, alone) { // also the records
		t.Errorf("the mirror has %q, and had %q before", have, alone)
	}
	if r := pruned(s); !slices.Equal(r.ImageSets, []string{"edge"}) {
		t.Errorf("%q", r.ImageSets)
	}
	_, err = prunes(s, forget("imageset"))
	mirrortest.Refused(t, err, advice.Input, "no image set")

	// The other workspace knows the image set, and that the mirror had a record of it.
	pruned(s, yes, func(o *removal.PruneOptions) { o.Workspace = s.Path("other") })
	s.Verified(edge, where, func(o *verify.Options) { o.Workspace = s.Path("other") })

	// Mirrored again, it is recorded anew.
	s.Mirrored(isc, where)
	s.VerifyCatalog("site", mirrortest.Acme, 4)
	s.Verified("", where)

	// The last image sets of a mirror. Each further run replaces the manifest of the last one.
	s.Mirrored(edge, where)
	s.Mirrored(edge, where)
	pruned(s, yes, forget("edge"))
	pruned(s, yes, forget("imageset"))
	left, err := s.Mirror.Repositories("site")
	fail.On(t, err)
	for _, r := range left {
		if len(r.Tags) > 0 && mirrortest.IsContent(r.Name) || len(r.Manifests) > 0 && !strings.HasSuffix(r.Name, "/gantry-lease") {
			t.Errorf("the mirror still has %+v", r)
		}
	}
	s.Mirrored(isc, where)
	s.Verified("", where)
	s.VerifyCatalog("site", mirrortest.Acme, 4)

	// The other workspace still has what it wrote, since a mirror without records has probably lost them, and gives it up.
	s.Mirrored(edge, where, func(o *mirroring.Options) { o.Workspace = s.Path("other") })
	pruned(s, yes, forget("edge"))
	pruned(s, yes, forget("imageset"))
	other := func(o *removal.PruneOptions) { o.Workspace = s.Path("other") }
	if r := pruned(s, yes, forget("edge"), other); r.Forgotten == nil || !r.Forgotten.Done {
		t.Errorf("%+v", r)
	}
	s.Mirrored(edge, where, func(o *mirroring.Options) { o.Workspace = s.Path("other") })
	pruned(s, yes, forget("edge"))
	s.Mirrored(isc, where, func(o *mirroring.Options) { o.Workspace = s.Path("other") })
	_, err = prunes(s, yes, other)
	mirrortest.Refused(t, err, advice.Input, `the workspace knows the image set "edge"`, "if it was given up")
	if r := pruned(s, forget("edge"), other); r.Forgotten == nil || r.Forgotten.Done {
		t.Errorf("%+v", r)
	}
	pruned(s, yes, forget("edge"), other)
	nothingLeft(s, other)
}
