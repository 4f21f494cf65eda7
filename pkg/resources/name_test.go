package resources

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestNamesOfCatalogs checks that the returned names are the names that Build writes.
func TestNamesOfCatalogs(t *testing.T) {
	for name, template := range map[string]string{
		"generated": "", "template": head, "name": head + "metadata: {name: ours}\n",
		"both": head + "metadata: {name: ours, namespace: olm}\n",
	} {
		t.Run(name, func(t *testing.T) {
			c := fromTemplate(t, template)
			if template == "" {
				c.Template = nil
			}
			c.Target = "lake/animals:v2"
			files, _, err := Build(nil, []Catalog{c}, Options{})
			fail.On(t, err)
			named, _, err := NameCatalogs([]Catalog{c}, nil)
			fail.On(t, err)
			source, err := named[0].CatalogSourceName()
			fail.On(t, err)
			object, err := named[0].ClusterCatalog()
			fail.On(t, err)
			want := map[string]string{"CatalogSource": source, "ClusterCatalog": "/" + object.Name}
			for _, f := range files {
				var object struct {
					Kind     string
					Metadata struct{ Namespace, Name string }
				}
				fail.On(t, yaml.Unmarshal(f.Text, &object))
				fail.Diff(t, want[object.Kind], object.Metadata.Namespace+"/"+object.Metadata.Name)
			}
			fail.Diff(t, 2, len(files))
		})
	}
	if _, err := fromTemplate(t, "kind: Pod\n").CatalogSourceName(); err == nil || !strings.Contains(err.Error(), "template.yaml") {
		t.Errorf("of an invalid template: %v", err)
	}
}
