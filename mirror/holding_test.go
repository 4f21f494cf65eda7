package mirror

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

func TestHold(t *testing.T) {
	m := sample(t)
	p := m.plan()
	names, err := Destination{Host: "mirror.example.com", Prefix: "ocp"}.Names(p)
	if err != nil {
		t.Fatal(err)
	}
	whole := Hold(p, names, &Report{}, nil)
	if len(whole.Images) != 5 || len(whole.Catalogs) != 0 {
		t.Fatalf("%d images and %d catalogs, want the 5 that are no catalog", len(whole.Images), len(whole.Catalogs))
	}
	want := resources.Image{
		Source: reference.Reference{Host: "src.example.com", Path: "org/a", Tag: "v1"},
		Mirror: reference.Reference{Host: "mirror.example.com", Path: "ocp/org/a", Tag: "v1", Digest: p.Images[1].Digest},
		Kind:   "operator",
	}
	if diff := cmp.Diff(want, whole.Images[0]); diff != "" {
		t.Errorf("first image: %s", diff)
	}
	part := Hold(p, names, &Report{Failed: []Failure{{Source: "src.example.com/org/b:v1", Repository: "org/b"}}}, nil)
	if len(part.Images) != 4 {
		t.Errorf("%d images, want those that arrived", len(part.Images))
	}
}

func TestHoldKeepsWhatTheMirrorHeld(t *testing.T) {
	m := sample(t)
	p := m.plan()
	names, err := Destination{Host: "mirror.example.com"}.Names(p)
	if err != nil {
		t.Fatal(err)
	}
	older := resources.Image{Source: reference.Reference{Host: "src.example.com", Path: "org/older", Tag: "v0"}, Kind: "operator"}
	moved := resources.Image{Source: reference.Reference{Host: "src.example.com", Path: "org/a", Tag: "v1"}, Mirror: reference.Reference{Path: "elsewhere"}}
	got := Hold(p, names, &Report{}, &Holding{Images: []resources.Image{older, moved}})
	if len(got.Images) != 6 || !slices.Contains(got.Images, older) || slices.Contains(got.Images, moved) {
		t.Errorf("images: %+v", got.Images)
	}
}

func TestHoldKeepsTheOlderCatalog(t *testing.T) {
	m := sample(t)
	m.addPlanCatalog(catalogSource, "cat/index")
	p := m.plan()
	names, err := Destination{Host: "mirror.example.com"}.Names(p)
	if err != nil {
		t.Fatal(err)
	}
	first := Hold(p, names, &Report{}, nil)
	if len(first.Catalogs) != 1 {
		t.Fatalf("catalogs: %+v", first.Catalogs)
	}
	held := &Report{Held: []Held{{Catalog: catalogSource}}}
	if got := Hold(p, names, held, nil); len(got.Catalogs) != 0 {
		t.Errorf("a catalog that was never published is offered: %+v", got.Catalogs)
	}
	if diff := cmp.Diff(first.Catalogs, Hold(p, names, held, &first).Catalogs); diff != "" {
		t.Errorf("the catalog that still stands there: %s", diff)
	}
}

func TestMerge(t *testing.T) {
	image := func(path string) resources.Image {
		return resources.Image{Source: reference.Reference{Host: "h", Path: path}}
	}
	now := resources.Catalog{Source: "h/cat:v1", Mirror: reference.Reference{Host: "m", Path: "cat", Tag: "now"}}
	then := now
	then.Mirror.Tag = "then"
	other := resources.Catalog{Source: "h/cat:v1", Target: "other"}
	got := Merge(
		Holding{Images: []resources.Image{image("a")}, Catalogs: []resources.Catalog{now}},
		Holding{Images: []resources.Image{image("b")}, Catalogs: []resources.Catalog{then, other}},
	)
	want := Holding{Images: []resources.Image{image("a"), image("b")}, Catalogs: []resources.Catalog{now, other}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
