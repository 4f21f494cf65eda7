package resources

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// TestPlainNames checks the names that oc mirror gives, which depend on the place in the mirror.
func TestPlainNames(t *testing.T) {
	sum := strings.Repeat("0123456789abcdef", 4)
	for _, tt := range []struct{ source, target, mirror, want string }{
		{"registry.redhat.io/redhat/redhat-operator-index:v4.20", "", "redhat/redhat-operator-index:v4.20", "redhat-operator-index-v4-20"},
		{"registry.redhat.io/redhat/redhat-operator-index:v4.20@sha256:" + sum, "", "redhat/redhat-operator-index:v4.20", "redhat-operator-index-v4-20"},
		{"registry.redhat.io/redhat/redhat-operator-index:v4.20", "ours/curated:v1.2", "ours/curated:v1.2", "curated-v1-2"},
		{"registry.redhat.io/redhat/redhat-operator-index:v4.20", "ours/curated", "ours/curated:v4.20", "curated-v4-20"},
		{"registry.redhat.io/redhat/redhat-operator-index:v4.20", ":v4.20-Production", "redhat/redhat-operator-index:v4.20-Production", "redhat-operator-index-v4-20-produc"},
		{"quay.io/org/index@sha256:" + sum, "", "org/index:sha256-" + sum, "index-sha256-01234"},
		{"quay.io/org/index", "", "org/index:latest", "index-latest"},
		{"oci:///srv/My.Catalog", "", "my.catalog:latest", "my-catalog-latest"},
		{"quay.io/org/my--in_dex:v1", "", "org/my--in_dex:v1", "my--in-dex-v1"},
		{"quay.io/org/index:0.1.2-alpha.1.beta", "", "org/index:x", "index-0-1-2-alpha"},
		{"quay.io/a/b/index:v1", "", "a/b-index:v1", "b-index-v1"}, // --max-nested-paths 2
		{"quay.io/a/index:v1", "", "a/index-5b2c71d0:v1", "index-v1"},
		{"quay.io/org/" + strings.Repeat("n", 80) + ":v1", "", "org/x:v1", strings.Repeat("n", 57) + "-v1"},
	} {
		c := Catalog{Source: tt.source, Target: tt.target, Mirror: ref(t, "mirror.local:5000/ocp/"+tt.mirror+"#a")}
		named, _, err := NameCatalogs([]Catalog{c}, nil)
		if err != nil || named[0].Name != tt.want {
			t.Errorf("%s as %q is called %q, want %q (%v)", tt.source, tt.target, named[0].Name, tt.want, err)
		}
	}
}

// TestNamesStay checks in runs with random catalogs that each name is valid, belongs to one place in
// the mirror, and never changes.
func TestNamesStay(t *testing.T) {
	var all []Catalog
	for _, host := range []string{"quay.io", "docker.io"} {
		for _, path := range []string{"a/index", "b/index", "a/b-index", "a/" + strings.Repeat("long", 20), "a/" + strings.Repeat("long", 21)} {
			for _, tag := range []string{":v4.19", ":v4.20", ":v4.20-production", ":v4.20-productive", "@sha256:" + strings.Repeat("e", 64)} {
				mirror := ref(t, "mirror.local/"+strings.TrimSuffix(host, ".io")+"/"+path+":tag#content")
				all = append(all, Catalog{Source: host + "/" + path + tag, Mirror: mirror})
			}
		}
	}
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		var saved []CatalogName
		given := map[string]string{} // source -> name
		for range 6 {
			run := elements.Map(random.Perm(len(all))[:random.IntN(len(all))], func(i int) Catalog { return all[i] })
			if random.IntN(4) == 0 { // an older version wrote the record
				for i := range run {
					if n, err := run[i].HashedName(); err == nil && savedName(saved, &run[i], n.Place) < 0 {
						saved = append(saved, n)
					}
				}
			}
			named, names, err := NameCatalogs(run, saved)
			fail.On(t, err)
			random.Shuffle(len(run), func(i, j int) { run[i], run[j] = run[j], run[i] })
			other, _, err := NameCatalogs(run, saved)
			fail.On(t, err)
			inOrder := map[string]string{}
			for _, c := range other {
				inOrder[c.Source] = c.Name
			}
			for _, c := range named {
				fail.On(t, checkName("name", "cs-"+c.Name))
				if before := given[c.Source]; before != "" && before != c.Name || inOrder[c.Source] != c.Name {
					t.Fatalf("seed %d: %s was called %q, and is called %q, and %q in another order", seed, c.Source, before, c.Name, inOrder[c.Source])
				}
				given[c.Source] = c.Name
			}
			saved = names
		}
		if unique := slices.Compact(slices.Sorted(maps.Values(given))); len(unique) != len(given) {
			t.Fatalf("seed %d: %d names for %d catalogs", seed, len(unique), len(given))
		}
	}
}

// TestNamesOfOnePlace checks that catalogs with the same place in the mirror are one object, and that a
// catalog keeps its name at another place.
func TestNamesOfOnePlace(t *testing.T) {
	at := ref(t, "mirror.local/org/index:v1#a")
	tagged := Catalog{Source: "quay.io/org/index:v1", Mirror: at}
	pinned := Catalog{Source: "quay.io/org/index:v1@" + at.Digest.String(), Mirror: at}
	other := Catalog{Source: "quay.io/other/index:v1", Mirror: ref(t, "mirror.local/other/index:v1#b")}
	_, saved, err := NameCatalogs([]Catalog{tagged}, nil)
	fail.On(t, err)
	named, saved, err := NameCatalogs([]Catalog{pinned, other}, saved)
	if err != nil || named[0].Name != "index-v1" || named[1].Name != "index-v1-"+reference.ShortHash(other.Source) {
		t.Errorf("names are %q and %q, %v", named[0].Name, named[1].Name, err)
	}
	other.Mirror.Path = "other-index"
	if named, _, err = NameCatalogs([]Catalog{other}, saved); err != nil || named[0].Name != "index-v1-"+reference.ShortHash(other.Source) {
		t.Errorf("elsewhere, the name is %q, %v", named[0].Name, err)
	}
	files, _, err := Build(nil, []Catalog{tagged, pinned}, Options{})
	if err != nil || fmt.Sprint(FileNames(files)) != "[cc-index-v1.yaml cs-index-v1.yaml]" {
		t.Errorf("files %v, %v", FileNames(files), err)
	}
}
