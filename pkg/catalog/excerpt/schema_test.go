package excerpt_test

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/excerpt"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestSchemas(t *testing.T) {
	t.Parallel()
	const head = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"bs.x.io"},"spec":{"group":"x.io","names":{"kind":"B"},`
	deep := `{"required":["end"]}`
	for range 80 {
		deep = `{"properties":{"a":` + deep + `}}`
	}
	for name, test := range map[string]struct {
		spec string
		want []excerpt.Schema
	}{
		"no versions": {`"version":"v1"}}`, nil},
		"fields": {
			`"conversion":{"strategy":"Webhook"},"versions":[{"name":"v1","served":true,"schema":{"openAPIV3Schema":{"required":["spec"],"properties":{"spec":{"required":["list","gone"],"properties":{"list":{"items":{"required":["name"],"properties":{"name":{}}}},"map":{"additionalProperties":{"properties":{"size":{}}}},"any":{"additionalProperties":true}}}}}}},{"name":"v2"}]}}`,
			[]excerpt.Schema{
				{Group: "x.io", Kind: "B", Version: "v1", Served: true, Converted: true, Fields: map[string]bool{
					"spec": true, "spec.list": true, "spec.gone": true, "spec.list[].name": true, "spec.map": false, "spec.map{}.size": false, "spec.any": false,
				}},
				{Group: "x.io", Kind: "B", Version: "v2", Converted: true, Fields: map[string]bool{}},
			},
		},
		"one schema for all versions": {
			`"validation":{"openAPIV3Schema":{"properties":{"spec":{}}}},"versions":[{"name":"v1","served":true}]}}`,
			[]excerpt.Schema{{Group: "x.io", Kind: "B", Version: "v1", Served: true, Fields: map[string]bool{"spec": false}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := excerpt.Schemas(&catalog.Bundle{Properties: []catalog.Property{object(csv), object(head + test.spec)}})
			fail.On(t, err)
			fail.Diff(t, test.want, got)
		})
	}
	got, err := excerpt.Schemas(&catalog.Bundle{Properties: []catalog.Property{object(head + `"versions":[{"name":"v1","schema":{"openAPIV3Schema":` + deep + `}}]}}`)}})
	if err != nil || len(got) != 1 || len(got[0].Fields) != 51 {
		t.Errorf("deep schema: %v, %v", got, err)
	}
	wide := `{"properties":{"` + strings.Repeat("long", 200) + `":{"properties":{"a":{},"b":{}}}}}`
	got, err = excerpt.Schemas(&catalog.Bundle{Properties: []catalog.Property{object(head + `"versions":[{"name":"v1","schema":{"openAPIV3Schema":` + wide + `}}]}}`)}})
	if err != nil || len(got) != 1 || len(got[0].Fields) != 1 {
		t.Errorf("long names: %v, %v", got, err)
	}
	if _, err := excerpt.Schemas(&catalog.Bundle{Name: "a", Properties: []catalog.Property{object(head + `"versions":{}}}`)}}); err == nil {
		t.Error("versions that are not a list are accepted")
	}
}
