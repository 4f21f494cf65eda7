package imageset_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

func TestParseOperator(t *testing.T) {
	c, err := imageset.Parse("f.yaml", []byte(everything))
	fail.On(t, err)
	for _, o := range c.Mirror.Operators {
		text, err := json.Marshal(o)
		fail.On(t, err)
		again, err := imageset.ParseOperator(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(o, again, noPositions); diff != "" {
			t.Errorf("%s (-first +again):\n%s", text, diff)
		}
	}
	_, err = imageset.ParseOperator([]byte(`{"catalog": "a", "full": true, "packages": [{"name": "b", "minVersion": "1.0.0"}], "x": 1}`))
	want := `line 1: catalog: "a" names no registry, and has neither tag nor digest; add one, such as "docker.io/library/a:latest"
line 1: unknown field "x"; supported fields: catalog, targetCatalog, targetTag, targetCatalogSourceTemplate, targetClusterCatalogTemplate, full, relatedImages, dependencies, installed, platforms, platformsMode, packages`
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	if o, err := imageset.ParseOperator([]byte(`{"catalog": "quay.io/A/b:v1"}`)); err == nil || o.Catalog != "" {
		t.Errorf("unusable text: %+v, %v", o, err)
	}
}
