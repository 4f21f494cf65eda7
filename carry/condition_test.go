package carry

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/plan"
)

// TestAssess says what damage costs, and what of an archive is not here.
func TestAssess(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change  func(w *world)
		folders []string
		want    Condition // without Damage
		whole   bool
		damage  int
	}{
		"whole":              {nil, []string{"disk1"}, Condition{Images: 1}, true, 0},
		"a chain":            {nil, []string{"disk3", "disk2", "disk1"}, Condition{Images: 3}, true, 0},
		"the newest alone":   {nil, []string{"disk3"}, Condition{Images: 3, Earlier: &Earlier{Sequences: []int{2}, Content: 5}}, true, 0},
		"one is not read":    {nil, []string{"disk3", "disk1"}, Condition{Images: 3, Earlier: &Earlier{Sequences: []int{2}, Content: 5}, Unread: []int{1}}, true, 0},
		"the plan elsewhere": {func(w *world) { w.must(w.month(3), "same", Since{}) }, []string{"same"}, Condition{Earlier: &Earlier{Sequences: []int{3}, Plan: true}}, true, 0},
		"a layer":            {func(w *world) { w.spoil("disk2", content(layerOf("layer 2"))) }, []string{"disk3", "disk2", "disk1"}, Condition{Images: 3, Broken: []string{source(2)}}, false, 1},
		"what all have":      {func(w *world) { w.spoil("disk1", content(layerOf("shared"))) }, []string{"disk3", "disk2", "disk1"}, Condition{Images: 3, Broken: []string{source(1), source(2), source(3)}}, false, 1},
		"the plan":           {func(w *world) { w.spoil("disk1", itsPlan) }, []string{"disk1"}, Condition{PlanLost: true}, false, 1},
		"a repair": {func(w *world) {
			w.spoil("disk1", content(layerOf("shared")))
			w.repairInto("repair", "disk1")
		}, []string{"disk1", "repair"}, Condition{Images: 1}, true, 1},
		"encrypted": {func(w *world) {
			opts := w.to("secret", Since{Full: true})
			opts.Archive.Encrypt = w.encryption()
			if _, err := w.write(w.ws, w.month(2), opts); err != nil {
				w.t.Fatal(err)
			}
		}, []string{"secret"}, Condition{Encrypted: true, Locked: true}, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.months(3)
			if tc.change != nil {
				tc.change(w)
			}
			have, damage := w.damage(tc.folders...)
			var dirs []string
			for _, f := range tc.folders {
				dirs = append(dirs, w.path(f))
			}
			got, err := Assess(t.Context(), have, dirs, damage)
			if err != nil {
				t.Fatal(err)
			}
			if got.Whole() != tc.whole || len(got.Damage) != tc.damage {
				t.Errorf("whole: %t, damage %+v", got.Whole(), got.Damage)
			}
			for _, d := range got.Damage {
				if !strings.Contains(d.Text, d.Problem) || d.Healed != tc.whole {
					t.Errorf("%+v", d)
				}
			}
			got.Damage = nil
			if diff := cmp.Diff(tc.want, *got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Earlier{}, "Bytes")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if e := got.Earlier; e != nil && (e.Bytes > 0) != (e.Content > 0) {
				t.Errorf("%+v", e)
			}
		})
	}
}

// repairInto repairs what folders lost.
func (w *world) repairInto(repaired string, folders ...string) {
	w.t.Helper()
	r, err := w.request(false, folders...)
	if err == nil {
		_, err = Repair(w.t.Context(), w.ws, r, memory{world: w}, RepairOptions{Dir: w.path(repaired)})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestWholeImages serves what is whole, and no catalog that names what is not.
func TestWholeImages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// The third image is a catalog that names the second.
	catalog := func(p *plan.Plan) *plan.Plan {
		c := &p.Images[2]
		c.Kind, c.Catalog = plan.CatalogImage, "catalog"
		p.Catalogs = []plan.Catalog{{Source: "catalog", Digest: c.Digest, Repository: c.Repository, Tag: "v1", ConfigsDir: "/configs"}}
		p.Images[1].Because = []plan.Because{{Catalog: "catalog"}}
		return p
	}
	p := catalog(w.month(3))
	p.Images[0].Tags = []string{"sha256-1", "v1"}
	w.must(p, "disk", Since{Full: true})
	images := func(folders ...string) *Wholes {
		t.Helper()
		have, err := WholeImages(t.Context(), w.open(folders...))
		if err != nil {
			t.Fatal(err)
		}
		served := 0
		for img := range have.All() {
			served++
			if len(img.Manifests) != 1 || len(img.Blobs) != 2 || img.Manifests[0].MediaType == "" {
				t.Errorf("%+v", img)
			}
		}
		if served != have.Count {
			t.Errorf("%d images are served, not %d", served, have.Count)
		}
		return have
	}
	if got := images("disk"); got.Count != 3 || got.Example != "org/app1:v1" || got.Lacking != nil || got.HeldBack != nil || got.Why != nil {
		t.Errorf("%+v", got)
	}
	// Of the next archive alone nothing is whole, and that is all that can be said.
	w.must(catalog(w.month(4)), "next", Since{})
	_, err := WholeImages(t.Context(), w.open("next"))
	refused[*advisedError](t, err, "give the folders of the archives that this one builds on, too")
	if got := images("next", "disk"); got.Count != 4 {
		t.Errorf("%+v", got)
	}
	// What the source did not have when the archive was planned is not served either.
	p = catalog(w.month(3))
	p.Missing = []plan.Missing{{Source: "src.example.com/gone:v1", Kind: plan.RelatedImage, Reason: "gone", Because: []plan.Because{{Catalog: "catalog"}}}}
	n, err := Prepare(t.Context(), w.ws, p, w.to("less", Since{Full: true}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Mirror(t.Context(), p, memory{world: w}, mirror.Options{}); err != nil {
		t.Fatal(err)
	}
	got := images("less")
	if diff := cmp.Diff([]plan.Whole{{Catalog: "catalog"}}, got.HeldBack); diff != "" || got.Count != 2 || len(got.Missing) != 1 {
		t.Errorf("%+v %s", got, diff)
	}
}
