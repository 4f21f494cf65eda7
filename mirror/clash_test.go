package mirror

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// held is a holding of one catalog.
func held(source, path, tag, content, selection string) Holding {
	c := resources.Catalog{Source: source, Mirror: reference.Reference{Host: "m:5000", Path: path, Tag: tag, Digest: digest.FromString(content)}}
	return Holding{Catalogs: []resources.Catalog{c}, Selections: map[string]digest.Digest{placeOf(c): digest.FromString(selection)}}
}

func TestClash(t *testing.T) {
	mine := held("h/org/index:v1", "org/index", "v1", "one", "lantern")
	for name, tc := range map[string]struct {
		other Holding
		want  *ClashError
	}{
		"nothing":                 {Holding{}, nil},
		"another tag":             {held("h/org/index:v2", "org/index", "v2", "x", "x"), nil},
		"another repository":      {held("h/org/index:v1", "org/curated", "v1", "x", "x"), nil},
		"chosen alike, then":      {held("h/org/index:v1", "org/index", "v1", "last week's", "lantern"), nil},
		"the same in another way": {held("h/org/index:v1", "org/index", "v1", "one", "lantern from 1.0.0"), nil},
		"chosen otherwise":        {held("h/org/index:v1", "org/index", "v1", "two", "quarry"), &ClashError{"h/org/index:v1", "m:5000/org/index:v1", "other"}},
		"from elsewhere":          {held("i/org/index:v1", "org/index", "v1", "two", "quarry"), &ClashError{"h/org/index:v1", "m:5000/org/index:v1", "other"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := Clash(mine, map[string]Holding{"other": tc.other, "third": {}})
			var got *ClashError
			if errors.As(err, &got) != (err != nil) {
				t.Fatalf("Clash = %v", err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	// The same image that another template offers is not the same catalog.
	other := held("h/org/index:v1", "org/index", "v1", "one", "lantern for others")
	other.Catalogs[0].Template = []byte("kind: CatalogSource")
	if Clash(mine, map[string]Holding{"other": other}) == nil {
		t.Error("another template was taken for the same catalog")
	}
}

func TestAbandoned(t *testing.T) {
	two := held("h/org/index:v1", "org/index", "v1", "", "")
	two.Catalogs = append(two.Catalogs, held("dir://more", "local/more", "latest", "", "").Catalogs...)
	for name, tc := range map[string]struct {
		now  Holding
		want []string
	}{
		"all":            {two, nil},
		"one":            {held("dir://more", "local/more", "latest", "", ""), nil},
		"the next tag":   {held("h/org/index:v2", "org/index", "v2", "", ""), nil},
		"another source": {held("oci://index", "org/index", "v1", "", ""), nil},
		"another place":  {held("h/org/index:v1", "curated", "v1", "", ""), nil},
		"none":           {Holding{}, []string{"h/org/index:v1", "dir://more"}},
		"others":         {held("h/org/other:v1", "org/other", "v1", "", ""), []string{"h/org/index:v1", "dir://more"}},
	} {
		if diff := cmp.Diff(tc.want, Abandoned(two, tc.now)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got := Abandoned(Holding{}, two); got != nil {
		t.Errorf("nothing before: %v", got)
	}
}

func TestSelectionsAreHeld(t *testing.T) {
	m := sample(t)
	m.addPlanCatalog(catalogSource, "cat/index")
	p := m.plan()
	p.Catalogs[0].Selection = []byte(`{ "catalog": "x" }`)
	names, err := Destination{Host: "mirror.example.com"}.Names(p)
	if err != nil {
		t.Fatal(err)
	}
	first := Hold(p, names, &Report{}, nil)
	at := "mirror.example.com/cat/index:v1"
	p.Catalogs[0].Selection = []byte("{\n \"catalog\": \"x\"\n}") // as a plan that was read back has it
	if again := Hold(p, names, &Report{}, nil); first.Selections[at] == "" || again.Selections[at] != first.Selections[at] {
		t.Errorf("selections %v and %v", first.Selections, again.Selections)
	}
	p.Catalogs[0].Template = "kind: CatalogSource"
	if again := Hold(p, names, &Report{}, nil); again.Selections[at] == first.Selections[at] {
		t.Error("another template is the same selection")
	}
	kept := Hold(p, names, &Report{Held: []Held{{Catalog: catalogSource}}}, &first)
	if diff := cmp.Diff(first.Selections, kept.Selections); diff != "" {
		t.Errorf("of a catalog that was held back: %s", diff)
	}
}
