package airgap

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// TestAssess checks which images damage breaks, and which parts of an archive are reported as
// unavailable.
func TestAssess(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change  func(w *fixture)
		folders []string
		want    Assessment // without Damage
		whole   bool
		damage  int
	}{
		"whole":              {nil, []string{"disk1"}, Assessment{Images: 1}, true, 0},
		"a chain":            {nil, []string{"disk3", "disk2", "disk1"}, Assessment{Images: 3}, true, 0},
		"the newest alone":   {nil, []string{"disk3"}, Assessment{Images: 3, Earlier: &EarlierSets{Sequences: []int{2}, Content: 5}}, true, 0},
		"one is not read":    {nil, []string{"disk3", "disk1"}, Assessment{Images: 3, Earlier: &EarlierSets{Sequences: []int{2}, Content: 5}, Unread: []int{1}}, true, 0},
		"the plan elsewhere": {func(w *fixture) { w.must(w.month(3), "same", Since{}) }, []string{"same"}, Assessment{Earlier: &EarlierSets{Sequences: []int{3}, Plan: true}}, true, 0},
		"a layer":            {func(w *fixture) { w.spoil("disk2", content(layerOf("layer 2"))) }, []string{"disk3", "disk2", "disk1"}, Assessment{Images: 3, Broken: []string{source(2)}}, false, 1},
		"what all have":      {func(w *fixture) { w.spoil("disk1", content(layerOf("shared"))) }, []string{"disk3", "disk2", "disk1"}, Assessment{Images: 3, Broken: []string{source(1), source(2), source(3)}}, false, 1},
		"the plan":           {func(w *fixture) { w.spoil("disk1", itsPlan) }, []string{"disk1"}, Assessment{PlanLost: true}, false, 1},
		"a repair": {func(w *fixture) {
			w.spoil("disk1", content(layerOf("shared")))
			w.repairInto("repair", "disk1")
		}, []string{"disk1", "repair"}, Assessment{Images: 1}, true, 1},
		"encrypted": {func(w *fixture) {
			opts := w.to("secret", Since{Full: true})
			opts.Archive.Encrypt = w.encryption()
			if _, err := w.write(w.ws, w.month(2), opts); err != nil {
				w.t.Fatal(err)
			}
		}, []string{"secret"}, Assessment{Encrypted: true, NeedsIdentity: true}, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.months(3)
			if tc.change != nil {
				tc.change(w)
			}
			have, damage := w.damage(tc.folders...)
			dirs := elements.Map(tc.folders, w.path)
			got, err := Assess(t.Context(), have, dirs, damage)
			fail.On(t, err)
			if got.Intact() != tc.whole || len(got.Damage) != tc.damage {
				t.Errorf("whole: %t, damage %+v", got.Intact(), got.Damage)
			}
			for _, d := range got.Damage {
				if !strings.Contains(d.Text, d.Problem) || d.Recoverable != tc.whole {
					t.Errorf("%+v", d)
				}
			}
			got.Damage = nil
			fail.Diff(t, tc.want, *got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(EarlierSets{}, "Bytes"))
			if e := got.Earlier; e != nil && (e.Bytes > 0) != (e.Content > 0) {
				t.Errorf("%+v", e)
			}
		})
	}
}

// repairInto repairs what folders lost.
func (w *fixture) repairInto(repaired string, folders ...string) {
	w.t.Helper()
	r, err := w.request(false, folders...)
	if err == nil {
		_, err = Repair(w.t.Context(), w.ws, r, memory{fixture: w}, RepairOptions{Dir: w.path(repaired)})
	}
	fail.On(w.t, err)
}

// TestWholeImages checks that only complete images are served, and no catalog that names an
// incomplete one.
func TestWholeImages(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	// The third image is a catalog that names the second.
	catalog := func(p *plan.Plan) *plan.Plan {
		c := &p.Images[2]
		c.Kind, c.Catalog = plan.CatalogImage, "src.example.com/catalog:v1"
		p.Catalogs = []plan.Catalog{{Source: "src.example.com/catalog:v1", Digest: c.Digest, Repository: c.Repository, Tag: "v1", ConfigsDir: "/configs", Selection: []byte("{}")}}
		p.Images[1].Reasons = []plan.Reason{{Catalog: "src.example.com/catalog:v1"}}
		return p
	}
	p := catalog(w.month(3))
	p.Images[0].Tags = []string{"sha256-1", "v1"}
	w.must(p, "disk", Since{Full: true})
	images := func(folders ...string) *ServableImages {
		t.Helper()
		have, err := FindServable(t.Context(), w.open(folders...))
		fail.On(t, err)
		served := 0
		for img := range have.All() {
			served++
			if len(img.Manifests) != 1 || len(img.Blobs) != 2 || img.Manifests[0].MediaType == "" {
				t.Errorf("%+v", img)
			}
		}
		fail.Diff(t, have.Count, served)
		return have
	}
	if got := images("disk"); got.Count != 3 || got.Example != "org/app1:v1" || got.Incomplete != nil || got.Withheld != nil || got.Cause != nil {
		t.Errorf("%+v", got)
	}
	// The next archive alone has no complete image, and nothing more can be known.
	w.must(catalog(w.month(4)), "next", Since{})
	_, err := FindServable(t.Context(), w.open("next"))
	refused(t, err, advice.Mismatch, "name the folders of the archives that this one builds on, too")
	if got := images("next", "disk"); got.Count != 4 {
		t.Errorf("%+v", got)
	}
	// Images that were missing at the source when the archive was planned are not served either.
	p = catalog(w.month(3))
	p.Missing = []plan.Missing{{Source: "src.example.com/gone:v1", Kind: plan.RelatedImage, Message: "gone", Reasons: []plan.Reason{{Catalog: "src.example.com/catalog:v1"}}}}
	n, err := PrepareExport(t.Context(), w.ws, p, w.to("less", Since{Full: true}))
	fail.On(t, err)
	_, err = n.Run(t.Context(), p, memory{fixture: w}, mirror.Options{})
	fail.On(t, err)
	got := images("less")
	if diff := cmp.Diff([]plan.Publishable{{Catalog: "src.example.com/catalog:v1"}}, got.Withheld); diff != "" || got.Count != 2 || len(got.Missing) != 1 {
		t.Errorf("%+v %s", got, diff)
	}
}
