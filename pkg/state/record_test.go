package state

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

func TestMerge(t *testing.T) {
	image := func(path string) resources.Image {
		return resources.Image{Source: reference.Reference{Host: "h", Path: path}}
	}
	now := resources.Catalog{Source: "h/cat:v1", Mirror: reference.Reference{Host: "m", Path: "cat", Tag: "now"}}
	then := now
	then.Mirror.Tag = "then"
	other := resources.Catalog{Source: "h/cat:v1", Target: "other"}
	got := Merge(
		Record{Images: []resources.Image{image("a")}, Catalogs: []resources.Catalog{now}},
		Record{Images: []resources.Image{image("b")}, Catalogs: []resources.Catalog{then, other}},
	)
	want := Record{Images: []resources.Image{image("a"), image("b")}, Catalogs: []resources.Catalog{now, other}}
	fail.Diff(t, want, got)
}

// Of two names for a catalog, the one without a hash applies.
func TestJoinNames(t *testing.T) {
	name := func(target, name string) resources.CatalogName {
		return resources.CatalogName{Source: "h/cat:v1", Target: target, Name: name}
	}
	got := JoinNames(
		Record{Names: []resources.CatalogName{name("", "cat-v1-0123abcd")}},
		Record{Names: []resources.CatalogName{name("other", "other-v1"), name("", "cat-v1")}},
	)
	fail.Diff(t, []resources.CatalogName{name("", "cat-v1"), name("other", "other-v1")}, got)
}
