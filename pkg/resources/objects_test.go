package resources

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompare(t *testing.T) {
	file := func(text string) []File { return []File{{"x.yaml", []byte(text)}} }
	catalog := func(name, image string) string {
		return "kind: CatalogSource\nmetadata: {name: " + name + ", namespace: market}\nspec: {image: " + image + "}\n---\n"
	}
	cluster := func(name, image string) string {
		return "kind: ClusterCatalog\nmetadata: {name: " + name + "}\nspec: {source: {image: {ref: " + image + "}}}\n---\n"
	}
	source := func(name string) ObjectName { return ObjectName{"CatalogSource", "market", name} }
	none := []ObjectName{}
	for name, tt := range map[string]struct {
		before, after string
		want          Changes
	}{
		"nothing":   {"", "", Changes{none, none, none, nil, nil, nil, 0}},
		"added":     {"", catalog("a", "m/i:1"), Changes{[]ObjectName{source("a")}, none, none, nil, nil, nil, 0}},
		"unchanged": {catalog("a", "m/i:1"), catalog("a", "m/i:1"), Changes{none, none, none, nil, nil, nil, 1}},
		"JSON in place of YAML": {
			catalog("a", "m/i:1"), `{"items": [{"spec": {"image": "m/i:1"}, "metadata": {"namespace": "market", "name": "a"}, "kind": "CatalogSource"}], "kind": "List"}`,
			Changes{none, none, none, nil, nil, nil, 1},
		},
		"changed": {catalog("a", "m/i:1"), catalog("a", "m/i:2"), Changes{none, []ObjectName{source("a")}, none, nil, nil, nil, 0}},
		"removed": {catalog("a", "m/i:1"), catalog("b", "m/j:1"), Changes{[]ObjectName{source("b")}, none, []ObjectName{source("a")}, nil, nil, nil, 0}},
		"renamed": {catalog("a", "m/i:1"), catalog("b", "m/i:2"), Changes{
			[]ObjectName{source("b")}, none, []ObjectName{source("a")}, []RenamedObject{{source("a"), source("b")}}, nil, nil, 0,
		}},
		"ambiguous": {catalog("a", "m/i:1") + catalog("c", "m/i:3"), catalog("b", "m/i:2"), Changes{
			[]ObjectName{source("b")}, none, []ObjectName{source("a"), source("c")}, nil, nil, nil, 0,
		}},
		"ClusterCatalog": {cluster("a", "m/i:1"), cluster("b", "m/i:2") + catalog("c", "m/i:2"), Changes{
			[]ObjectName{source("c"), {"ClusterCatalog", "", "b"}}, none, []ObjectName{{"ClusterCatalog", "", "a"}},
			[]RenamedObject{{ObjectName{"ClusterCatalog", "", "a"}, ObjectName{"ClusterCatalog", "", "b"}}}, nil, nil, 0,
		}},
		"changed by the user": {"{", catalog("a", "m/i:1"), Changes{[]ObjectName{source("a")}, none, none, nil, nil, nil, 0}},
	} {
		got, err := Compare(file(tt.before), file(tt.after))
		if err != nil {
			t.Fatal(name, err)
		}
		if diff := cmp.Diff(&tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if _, err := Compare(nil, file("{")); err == nil {
		t.Error("a file that is not YAML was read")
	}
}
