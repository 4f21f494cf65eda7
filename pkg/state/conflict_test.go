package state

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// catalogRecord is a record of one catalog.
func catalogRecord(source, path, tag, content, selection string) Record {
	c := resources.Catalog{Source: source, Mirror: reference.Reference{Host: "m:5000", Path: path, Tag: tag, Digest: digest.FromString(content)}}
	return Record{Catalogs: []resources.Catalog{c}, Selections: map[string]digest.Digest{tagOf(c): digest.FromString(selection)}}
}

func TestCheckConflicts(t *testing.T) {
	mine := catalogRecord("h/org/index:v1", "org/index", "v1", "one", "lantern")
	for name, tc := range map[string]struct {
		other Record
		want  *ConflictError
	}{
		"nothing":                 {Record{}, nil},
		"another tag":             {catalogRecord("h/org/index:v2", "org/index", "v2", "x", "x"), nil},
		"another repository":      {catalogRecord("h/org/index:v1", "org/curated", "v1", "x", "x"), nil},
		"chosen alike, then":      {catalogRecord("h/org/index:v1", "org/index", "v1", "last week's", "lantern"), nil},
		"the same in another way": {catalogRecord("h/org/index:v1", "org/index", "v1", "one", "lantern from 1.0.0"), nil},
		"chosen otherwise":        {catalogRecord("h/org/index:v1", "org/index", "v1", "two", "quarry"), &ConflictError{"h/org/index:v1", "m:5000/org/index:v1", "other"}},
		"from elsewhere":          {catalogRecord("i/org/index:v1", "org/index", "v1", "two", "quarry"), &ConflictError{"h/org/index:v1", "m:5000/org/index:v1", "other"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := CheckConflicts(mine, map[string]Record{"other": tc.other, "third": {}})
			var got *ConflictError
			if errors.As(err, &got) != (err != nil) {
				t.Fatalf("CheckConflicts = %v", err)
			}
			fail.Diff(t, tc.want, got)
		})
	}
	// The same image that another template offers is not the same catalog.
	other := catalogRecord("h/org/index:v1", "org/index", "v1", "one", "lantern for others")
	other.Catalogs[0].Template = []byte("kind: CatalogSource")
	if CheckConflicts(mine, map[string]Record{"other": other}) == nil {
		t.Error("another template was taken for the same catalog")
	}
	other.Catalogs[0].Template, other.Catalogs[0].ClusterCatalogTemplate = nil, []byte("kind: ClusterCatalog")
	if CheckConflicts(mine, map[string]Record{"other": other}) == nil {
		t.Error("another template of a ClusterCatalog was taken for the same catalog")
	}
}

func TestAbandoned(t *testing.T) {
	two := catalogRecord("h/org/index:v1", "org/index", "v1", "", "")
	two.Catalogs = append(two.Catalogs, catalogRecord("dir://more", "local/more", "latest", "", "").Catalogs...)
	for name, tc := range map[string]struct {
		now  Record
		want []string
	}{
		"all":            {two, nil},
		"one":            {catalogRecord("dir://more", "local/more", "latest", "", ""), nil},
		"the next tag":   {catalogRecord("h/org/index:v2", "org/index", "v2", "", ""), nil},
		"another source": {catalogRecord("oci://index", "org/index", "v1", "", ""), nil},
		"another place":  {catalogRecord("h/org/index:v1", "curated", "v1", "", ""), nil},
		"none":           {Record{}, []string{"h/org/index:v1", "dir://more"}},
		"others":         {catalogRecord("h/org/other:v1", "org/other", "v1", "", ""), []string{"h/org/index:v1", "dir://more"}},
	} {
		if diff := cmp.Diff(tc.want, Abandoned(two, tc.now)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got := Abandoned(Record{}, two); got != nil {
		t.Errorf("nothing before: %v", got)
	}
}
