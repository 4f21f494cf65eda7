package mirror

import (
	"slices"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/state"
)

func TestNewRecord(t *testing.T) {
	m := sample(t)
	p := m.plan()
	names, err := RegistryPath{Host: "mirror.example.com", Prefix: "ocp"}.Repositories(p)
	fail.On(t, err)
	whole := NewRecord(p, names, &Report{}, nil)
	if len(whole.Images) != 5 || len(whole.Catalogs) != 0 {
		t.Fatalf("%d images and %d catalogs, want the 5 that are no catalog", len(whole.Images), len(whole.Catalogs))
	}
	want := resources.Image{
		Source: reference.Reference{Host: "src.example.com", Path: "org/a", Tag: "v1"},
		Mirror: reference.Reference{Host: "mirror.example.com", Path: "ocp/org/a", Tag: "v1", Digest: p.Images[1].Digest},
		Kind:   "operator",
	}
	fail.Diff(t, want, whole.Images[0])
	part := NewRecord(p, names, &Report{Failed: []Failure{{Source: "src.example.com/org/b:v1", Repository: "org/b"}}}, nil)
	fail.Diff(t, 4, len(part.Images))
}

// TestRecordOfSmallerIndex checks that clusters are led to the digest that the filtered catalog names.
func TestRecordOfSmallerIndex(t *testing.T) {
	m := sample(t)
	p := m.plan()
	i := slices.IndexFunc(p.Images, func(img plan.Image) bool { return img.Repository == "org/b" })
	original, img := digest.FromString("original"), &p.Images[i]
	img.Source, img.RewrittenFrom = "src.example.com/org/b@"+original.String(), original
	names, err := RegistryPath{Host: "mirror.example.com"}.Repositories(p)
	fail.On(t, err)
	for _, got := range NewRecord(p, names, &Report{}, nil).Images {
		if got.Source.Path == "org/b" && got.Source.Digest != img.Digest {
			t.Errorf("clusters ask for %s, want %s", got.Source.Digest, img.Digest)
		}
		if got.Source.Digest == original {
			t.Errorf("the record has the original digest: %+v", got)
		}
	}
}

func TestRecordKeepsEarlierImages(t *testing.T) {
	m := sample(t)
	p := m.plan()
	names, err := RegistryPath{Host: "mirror.example.com"}.Repositories(p)
	fail.On(t, err)
	older := resources.Image{Source: reference.Reference{Host: "src.example.com", Path: "org/older", Tag: "v0"}, Kind: "operator"}
	moved := resources.Image{Source: reference.Reference{Host: "src.example.com", Path: "org/a", Tag: "v1"}, Mirror: reference.Reference{Path: "elsewhere"}}
	got := NewRecord(p, names, &Report{}, &state.Record{Images: []resources.Image{older, moved}})
	if len(got.Images) != 6 || !slices.Contains(got.Images, older) || slices.Contains(got.Images, moved) {
		t.Errorf("images: %+v", got.Images)
	}
}

func TestRecordKeepsTheCatalogOfAWithheldOne(t *testing.T) {
	m := sample(t)
	m.addPlanCatalog(catalogSource, "cat/index")
	p := m.plan()
	names, err := RegistryPath{Host: "mirror.example.com"}.Repositories(p)
	fail.On(t, err)
	first := NewRecord(p, names, &Report{}, nil)
	if len(first.Catalogs) != 1 {
		t.Fatalf("catalogs: %+v", first.Catalogs)
	}
	withheld := &Report{Withheld: []Withheld{{Catalog: catalogSource}}}
	if got := NewRecord(p, names, withheld, nil); len(got.Catalogs) != 0 {
		t.Errorf("a catalog that was never published is recorded: %+v", got.Catalogs)
	}
	fail.Diff(t, first.Catalogs, NewRecord(p, names, withheld, &first).Catalogs)
}

func TestRecordKeepsSelections(t *testing.T) {
	m := sample(t)
	m.addPlanCatalog(catalogSource, "cat/index")
	p := m.plan()
	p.Catalogs[0].Selection = []byte(`{ "catalog": "x" }`)
	names, err := RegistryPath{Host: "mirror.example.com"}.Repositories(p)
	fail.On(t, err)
	first := NewRecord(p, names, &Report{}, nil)
	at := "mirror.example.com/cat/index:v1"
	p.Catalogs[0].Selection = []byte("{\n \"catalog\": \"x\"\n}") // the form after a plan was written and read
	if again := NewRecord(p, names, &Report{}, nil); first.Selections[at] == "" || again.Selections[at] != first.Selections[at] {
		t.Errorf("selections %v and %v", first.Selections, again.Selections)
	}
	p.Catalogs[0].Template = "kind: CatalogSource"
	if again := NewRecord(p, names, &Report{}, nil); again.Selections[at] == first.Selections[at] {
		t.Error("another template is the same selection")
	}
	p.Catalogs[0].Template, p.Catalogs[0].ClusterCatalogTemplate, p.Catalogs[0].ClusterCatalogTemplateName = "", "kind: ClusterCatalog", "cc.yaml"
	again := NewRecord(p, names, &Report{}, nil)
	if again.Selections[at] == first.Selections[at] {
		t.Error("another template of a ClusterCatalog is the same selection")
	}
	if c := again.Catalogs[0]; string(c.ClusterCatalogTemplate) != "kind: ClusterCatalog" || c.ClusterCatalogTemplateName != "cc.yaml" {
		t.Errorf("the template of the ClusterCatalog is %q of %q", c.ClusterCatalogTemplate, c.ClusterCatalogTemplateName)
	}
	kept := NewRecord(p, names, &Report{Withheld: []Withheld{{Catalog: catalogSource}}}, &first)
	fail.Diff(t, first.Selections, kept.Selections)
}

// TestRecordHasISOs checks that a release has its ISO images if they arrived, and keeps those of earlier runs.
func TestRecordHasISOs(t *testing.T) {
	m := sample(t)
	p := m.plan()
	p.Releases = []plan.Release{{Version: "4.20.1", Arch: "amd64", Repository: "openshift/release-images", Tag: "4.20.1-x86_64", LiveISOs: []plan.LiveISO{
		{Arch: "amd64", File: "one.iso"}, {Arch: "arm64", File: "two.iso"}, {Arch: "s390x", File: "not in the plan.iso"},
	}}}
	p.Files = []plan.File{{Name: "one.iso", Source: "file+https://example.com/one.iso", Repository: "gantry/files"}, {Name: "two.iso", Source: "file+https://example.com/two.iso", Repository: "gantry/files"}}
	files := func(r state.Record) (names []string) {
		for _, iso := range r.Releases[0].LiveISOs {
			names = append(names, iso.File)
		}
		return names
	}
	first := NewRecord(p, nil, &Report{Failed: []Failure{{Source: p.Files[1].Source, Repository: "gantry/files"}}}, nil)
	fail.Diff(t, []string{"one.iso"}, files(first))
	p.Releases[0].LiveISOs = p.Releases[0].LiveISOs[1:]
	fail.Diff(t, []string{"two.iso", "one.iso"}, files(NewRecord(p, nil, &Report{}, &first)))
}
