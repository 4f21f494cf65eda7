package check

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/extension"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
)

// A ClusterCatalog serves the catalog whose location in the mirror matches its image best.
func TestClusterCatalogs(t *testing.T) {
	d := "sha256:" + strings.Repeat("d", 64)
	s := &build.Selection{Catalogs: []build.SelectedCatalog{
		build.Unfiltered("quay.io/org/index:v4.19", &catalog.Catalog{Names: []string{"old"}}),
		build.Unfiltered("quay.io/org/index:v4.20", &catalog.Catalog{Names: []string{"new"}}),
		build.Unfiltered("dir://catalog", &catalog.Catalog{Names: []string{"folder"}}),
	}}
	s.Catalogs[2].Catalog.Repository, s.Catalogs[2].Catalog.Tag, s.Catalogs[2].Catalog.Digest = "catalog", "latest", "sha256:"+catalog256
	var warnings strings.Builder
	e := &env.Env{Warn: func(text string) { warnings.WriteString(text) }}
	emitted, err := clusterCatalogs(e, nil, t.TempDir(), s)
	if err != nil || len(emitted) != 3 {
		t.Fatalf("%v, %v", emitted, err)
	}
	for _, tt := range []struct{ name, ref, want string }{
		{"mine", "mirror:5000/pre/fix/org/index:v4.20", "new"},
		{"mine", "mirror:5000/org/index:v4.19", "old"},
		{"mine", "mirror:5000/org/index@" + d, "old"}, // either; the first
		{"mine", "mirror:5000/catalog@sha256:" + catalog256, "folder"},
		{emitted[1].Name, "mirror:5000/elsewhere:v1", "new"},
		{"mine", "mirror:5000/morg/index:v4.20", ""},
		{"mine", "mirror:5000/other:v4.20", ""},
	} {
		warnings.Reset()
		got, err := clusterCatalogs(e, []extension.Catalog{{Name: tt.name, Ref: tt.ref}}, t.TempDir(), s)
		fail.On(t, err)
		name := ""
		if got[0].Content != nil {
			name = got[0].Content.Names[0]
		}
		if name != tt.want || strings.Contains(warnings.String(), "treated as empty") != (tt.want == "") {
			t.Errorf("%s %s serves %q, want %q (%s)", tt.name, tt.ref, name, tt.want, warnings.String())
		}
	}
}

// A template sets what OLM v1 considers when it chooses a catalog.
func TestClusterCatalogsOfTemplates(t *testing.T) {
	s := &build.Selection{Catalogs: []build.SelectedCatalog{build.Unfiltered("quay.io/org/index:v4.20", &catalog.Catalog{})}}
	s.Catalogs[0].Catalog.ClusterCatalogTemplateName = "cc.yaml"
	s.Catalogs[0].Catalog.ClusterCatalogTemplate = "apiVersion: olm.operatorframework.io/v1\nkind: ClusterCatalog\n" +
		"metadata: {name: ours, labels: {team: a}}\nspec: {priority: 7, availabilityMode: Unavailable}\n"
	emitted, err := clusterCatalogs(new(env.Env), nil, t.TempDir(), s)
	fail.On(t, err)
	want := []extension.Catalog{{Name: "ours", Labels: map[string]string{"team": "a"}, Priority: 7, Unavailable: true, Content: &catalog.Catalog{}}}
	fail.Diff(t, want, emitted)
	s.Catalogs[0].Catalog.ClusterCatalogTemplate = "kind: Pod\n"
	if _, err := clusterCatalogs(new(env.Env), nil, t.TempDir(), s); err == nil || !strings.Contains(err.Error(), "targetClusterCatalogTemplate cc.yaml: kind is Pod") {
		t.Errorf("of an invalid template: %v", err)
	}
}

const catalog256 = "cafecafecafecafecafecafecafecafecafecafecafecafecafecafecafecafe"
