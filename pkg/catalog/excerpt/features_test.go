package excerpt_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/excerpt"
)

func TestDeclaredFeatures(t *testing.T) {
	t.Parallel()
	const annotations = `"annotations":{"features.operators.openshift.io/disconnected":"false","features.operators.openshift.io/proxy-aware":"true",` +
		`"features.operators.openshift.io/cni":"perhaps","features.operators.openshift.io/":"true","features.operators.openshift.io/a b":"true",` +
		`"operators.openshift.io/infrastructure-features":"[\"Disconnected\",\"FIPS mode\",\"csi\",\"\"]","other":1}`
	want := excerpt.Features{Supported: []string{"csi", "fips-compliant", "proxy-aware"}, Unsupported: []string{"disconnected"}}
	for _, tc := range []struct {
		name       string
		properties []catalog.Property
		want       excerpt.Features
	}{
		{"nothing", nil, excerpt.Features{}},
		{"metadata", []catalog.Property{property("olm.csv.metadata", `{`+annotations+`}`)}, want},
		{"manifest", []catalog.Property{object(`{"kind":"Service","metadata":{` + annotations + `}}`), object(`{"kind":"ClusterServiceVersion","metadata":{` + annotations + `}}`)}, want},
		{"another kind", []catalog.Property{object(`{"kind":"Service","metadata":{` + annotations + `}}`)}, excerpt.Features{}},
		{"metadata takes precedence", []catalog.Property{property("olm.csv.metadata", `{}`), object(`{"kind":"ClusterServiceVersion","metadata":{` + annotations + `}}`)}, excerpt.Features{}},
		{"a list that is none", []catalog.Property{property("olm.csv.metadata", `{"annotations":{"operators.openshift.io/infrastructure-features":"disconnected"}}`)}, excerpt.Features{}},
	} {
		got, err := excerpt.DeclaredFeatures(&catalog.Bundle{Name: "a.v1", Properties: tc.properties})
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
	if _, err := excerpt.DeclaredFeatures(&catalog.Bundle{Properties: []catalog.Property{property("olm.csv.metadata", `{"annotations":[]}`)}}); err == nil {
		t.Error("annotations that are a list are accepted")
	}
}
