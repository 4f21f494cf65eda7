package build

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
)

// lose returns the plan without images, as after failed reads from their source.
func lose(t *testing.T, p *plan.Plan, images ...*plan.Image) *plan.Plan {
	t.Helper()
	var lost []plan.FailedImage
	for _, img := range images {
		lost = append(lost, plan.FailedImage{Source: img.Source, Repository: img.Repository, Err: errors.New("gone")})
	}
	q, err := p.Without(lost)
	fail.On(t, err)
	return q
}

func imageAt(t *testing.T, p *plan.Plan, repository, tag string) *plan.Image {
	t.Helper()
	i := slices.IndexFunc(p.Images, func(img plan.Image) bool { return img.Repository == repository && slices.Contains(img.Tags, tag) })
	if i < 0 {
		t.Fatalf("nothing is at %s:%s", repository, tag)
	}
	return &p.Images[i]
}

// TestReleasesWithoutImages checks that everything that needs a lost image is removed: a release
// without its payload, updates through that release, graph data without its image. A release
// without a component stays, but is not publishable.
func TestReleasesWithoutImages(t *testing.T) {
	t.Parallel()
	w := newReleaseFixture(t, releasetest.Small())
	p := w.platform("    graph: true\n    channels: [{name: eus-4.20, from: [4.18.1]}, {name: stable-4.18, minVersion: 4.18.1}]\n")
	if len(p.Updates) != 2 || len(p.Releases) != 4 {
		t.Fatalf("%s, %+v", releaseNames(p), p.Updates)
	}
	payload := imageAt(t, p, plan.ReleaseRepository, "4.19.2-x86_64")
	q := lose(t, p, payload, imageAt(t, p, plan.GraphRepository, "latest"))
	if releaseNames(q) != "4.18.1-x86_64 4.18.2-x86_64 4.20.2-x86_64" || q.GraphData != nil {
		t.Errorf("left: %s, %+v", releaseNames(q), q.GraphData)
	}
	if len(q.Updates) != 1 || q.Updates[0].Channel != "stable-4.18" {
		t.Errorf("updates: %+v", q.Updates)
	}
	if len(q.Missing) != 2 || len(q.Images) != len(p.Images)-2 {
		t.Errorf("missing: %+v", q.Missing)
	}
	if len(p.Releases) != 4 || len(p.Updates) != 2 || p.GraphData == nil {
		t.Error("the plan itself has changed")
	}
	q = lose(t, p, imageAt(t, p, plan.ComponentRepository, "4.19.2-x86_64-cli"))
	if len(q.Releases) != 4 || len(q.Updates) != 2 || len(q.Missing) != 1 {
		t.Errorf("left: %s; missing %+v", releaseNames(q), q.Missing)
	}
	if whole, _ := q.Missing[0].Reasons[0].Publishable(); whole.Release == "" {
		t.Errorf("nothing is unpublishable because of %+v", q.Missing[0])
	}
}

// TestPartialPlansWithReleases checks that a partial plan has no releases, and that their images
// are like any other image in it.
func TestPartialPlansWithReleases(t *testing.T) {
	t.Parallel()
	w := newReleaseFixture(t, releasetest.Small())
	w.catalog("/cat", "op", map[string]any{"image": w.fixture.push("quay.io/org/op", w.fixture.image("b"))})
	p, err := w.make(everything)
	fail.On(t, err)
	only, err := p.OnlyCatalogs([]string{"dir:///cat"})
	if err != nil || len(only.Images) != 1 || len(only.Releases)+len(only.Updates)+len(only.UpdateGraphs) > 0 || only.GraphData != nil {
		t.Errorf("the catalog alone: %+v, %v", only, err)
	}
	payload, graphs := imageAt(t, p, plan.ReleaseRepository, "4.20.1-multi"), imageAt(t, p, plan.GraphRepository, "latest")
	cli := imageAt(t, p, plan.ComponentRepository, "4.20.1-multi-cli")
	picked, err := p.OnlyImages([]plan.Image{*payload, *graphs, *cli})
	if err != nil || len(picked.Images) != 3 || len(picked.Releases) > 0 || picked.GraphData != nil {
		t.Fatalf("picked: %+v, %v", picked, err)
	}
	for _, img := range picked.Images {
		if _, ok := img.Publishable(); ok {
			t.Errorf("%s depends on other images", img.Source)
		}
	}
	if payload.Kind != plan.ReleaseImage || graphs.Kind != plan.GraphImage {
		t.Error("the plan itself has changed")
	}
}

// TestReduceBesideReleases checks that a catalog is rebuilt without packages with missing images,
// while releases with missing images stay unchanged.
func TestReduceBesideReleases(t *testing.T) {
	t.Parallel()
	u := releasetest.Small()
	u.Releases[5].Flaws.Missing = []string{"rhel-coreos"}
	w := newReleaseFixture(t, u)
	made := w.Payload("4.20.2-x86_64")
	missing := made.Content + "@" + made.Images["rhel-coreos"].String() // an operator names it, too
	w.catalog("/cat", "op", map[string]any{"image": w.fixture.push("quay.io/org/op", w.fixture.image("b"))})
	w.catalog("/bad", "bad", map[string]any{"image": w.fixture.push("quay.io/org/bad", w.fixture.image("c")), "relatedImages": related(missing)})
	w.files["/cat"] = fstest.MapFS{"cat.json": catalogFile(t, w.files["/cat"]), "bad.json": catalogFile(t, w.files["/bad"])}
	p, err := w.make("  platform: {graph: true, channels: [{name: fast-4.20, from: [4.19.2]}]}\n  operators: [{catalog: dir:///cat, full: true}]\n")
	fail.On(t, err)
	if len(p.Missing) != 2 || len(p.Catalogs[0].Packages) != 2 {
		t.Fatalf("missing %+v of %d packages", p.Missing, len(p.Catalogs[0].Packages))
	}
	r, err := Reduce(t.Context(), p, w.sources())
	fail.On(t, err)
	q := r.Plan
	if len(r.Catalogs) != 1 || len(q.Catalogs[0].Packages) != 1 || len(q.Catalogs[0].Excluded) != 1 {
		t.Errorf("rebuilt: %v, not rebuilt: %v", r.Catalogs, r.NotReduced)
	}
	if len(q.Missing) != 1 || q.Missing[0].Reasons[0].Release != made.Name {
		t.Errorf("missing: %+v", q.Missing)
	}
	if releaseNames(q) != releaseNames(p) || len(q.Updates) != 1 || q.GraphData == nil {
		t.Errorf("releases %s, updates %+v", releaseNames(q), q.Updates)
	}
	for _, tag := range []string{"4.20.2-x86_64-cli", "4.19.2-x86_64-cli"} {
		imageAt(t, q, plan.ComponentRepository, tag)
	}
}

// TestBlockersGoWithTheirPackages checks that an excluded operator, or an operator of an excluded
// catalog, no longer blocks updates.
func TestBlockersGoWithTheirPackages(t *testing.T) {
	t.Parallel()
	w := newReleaseFixture(t, releasetest.Small())
	limited := func(dir, pkg string, more map[string]any) *fstest.MapFile {
		more["image"] = w.fixture.push("quay.io/org/"+pkg, w.fixture.image(pkg))
		more["properties"] = []map[string]any{{"type": "olm.maxOpenShiftVersion", "value": "4.19"}}
		w.catalog(dir, pkg, more)
		return catalogFile(t, w.files[dir])
	}
	good := limited("/cat", "good", map[string]any{})
	bad := limited("/bad", "bad", map[string]any{"relatedImages": related("quay.io/org/gone:1")})
	w.files["/cat"] = fstest.MapFS{"good.json": good, "bad.json": bad}
	p, err := w.make("  platform: {channels: [{name: fast-4.20, from: [4.19.2]}]}\n  operators: [{catalog: dir:///cat, full: true}]\n")
	fail.On(t, err)
	blockers := func(p *plan.Plan) (packages []string) {
		for _, b := range p.Updates[0].Hops[0].Blockers {
			packages = append(packages, b.Package)
		}
		for _, note := range p.Notes {
			if name, ok := strings.CutPrefix(note, "operator "); ok {
				packages = append(packages, "note of "+name[:strings.IndexByte(name, ' ')])
			}
		}
		return packages
	}
	all := []string{"bad", "good", "note of bad", "note of good"}
	fail.Diff(t, all, blockers(p))
	r, err := Reduce(t.Context(), p, w.sources())
	fail.On(t, err)
	fail.Diff(t, []string{"good", "note of good"}, blockers(r.Plan))
	i := slices.IndexFunc(p.Images, func(img plan.Image) bool { return img.Kind == plan.CatalogImage })
	if got := blockers(lose(t, p, &p.Images[i])); got != nil {
		t.Errorf("without the catalog: %v", got)
	}
	if diff := cmp.Diff(all, blockers(p)); diff != "" {
		t.Error("the plan itself has changed", diff)
	}
}

// catalogFile returns the file of a catalog that fixture made.
func catalogFile(t *testing.T, f fs.FS) *fstest.MapFile {
	t.Helper()
	data, err := fs.ReadFile(f, "catalog.json")
	fail.On(t, err)
	return &fstest.MapFile{Data: data}
}
