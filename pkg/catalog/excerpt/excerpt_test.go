package excerpt_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/excerpt"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

func property(kind, value string) catalog.Property {
	return catalog.Property{Type: kind, Value: []byte(value)}
}

func object(text string) catalog.Property {
	return property("olm.bundle.object", fmt.Sprintf(`{"data":%q}`, base64.StdEncoding.EncodeToString([]byte(text))))
}

const csv = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: a.v1}
spec:
  minKubeVersion: 1.20.0
  installModes: [{type: OwnNamespace, supported: true}, {type: AllNamespaces, supported: true}, {type: MultiNamespace, supported: false}]
  webhookdefinitions: [{generateName: check.example.com, type: ValidatingAdmissionWebhook}]
  apiservicedefinitions: {owned: [{group: metrics.example.com, version: v1, kind: Metric}]}
`

func TestOf(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		properties []catalog.Property
		want       excerpt.Excerpt
	}{
		"nothing": {},
		"metadata": {
			[]catalog.Property{property("olm.csv.metadata", `{"minKubeVersion":"1.25.0","installModes":[{"type":"AllNamespaces","supported":true}],"apiServiceDefinitions":{}}`)},
			excerpt.Excerpt{CSV: true, InstallModes: []string{"AllNamespaces"}, MinKube: "1.25.0"},
		},
		"manifests": {
			[]catalog.Property{
				object(csv),
				object(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"bs.x.io"},"spec":{"group":"x.io","names":{"kind":"B"},"versions":[{"name":"v1"},{"name":"v2","storage":true}]}}`),
				object(`{"apiVersion":"apiextensions.k8s.io/v1beta1","kind":"CustomResourceDefinition","metadata":{"name":"as.x.io"},"spec":{"group":"x.io","names":{"kind":"A"},"version":"v1"}}`),
				object("apiVersion: v1\nkind: Service\n"),
			},
			excerpt.Excerpt{
				CSV: true, Complete: true, InstallModes: []string{"AllNamespaces", "OwnNamespace"}, MinKube: "1.20.0",
				Webhooks: []string{"check.example.com"}, APIServices: []string{"metrics.example.com/v1"},
				CRDs: []excerpt.CRD{
					{Name: "as.x.io", APIVersion: "apiextensions.k8s.io/v1beta1", Group: "x.io", Kind: "A", Versions: []string{"v1"}, Storage: "v1"},
					{Name: "bs.x.io", APIVersion: "apiextensions.k8s.io/v1", Group: "x.io", Kind: "B", Versions: []string{"v1", "v2"}, Storage: "v2"},
				},
			},
		},
		"metadata takes precedence over the manifest": {
			[]catalog.Property{property("olm.csv.metadata", `{"minKubeVersion":"1.25.0"}`), object(csv)},
			excerpt.Excerpt{CSV: true, Complete: true, MinKube: "1.25.0", Webhooks: []string{"check.example.com"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := excerpt.Of(&catalog.Bundle{Name: "a.v1", Properties: test.properties})
			fail.On(t, err)
			fail.Diff(t, test.want, got)
		})
	}
}

func TestOfInvalid(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]catalog.Property{
		"invalid base64":   property("olm.bundle.object", `{"data":"!"}`),
		"invalid manifest": object("[1"),
		"wrong types":      object(`{"kind":"CustomResourceDefinition","spec":{"versions":{}}}`),
		"metadata":         property("olm.csv.metadata", `[]`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := excerpt.Of(&catalog.Bundle{Name: "a.v1", Properties: []catalog.Property{{Type: "olm.package", Value: []byte("{}")}, p}})
			if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("reading property 1 (%s) of bundle a.v1: ", p.Type)) {
				t.Errorf("got error %v", err)
			}
		})
	}
}

func FuzzOf(f *testing.F) {
	f.Add("olm.bundle.object", `{"data":"`+base64.StdEncoding.EncodeToString([]byte(csv))+`"}`)
	f.Add("olm.csv.metadata", `{"installModes":[{"type":"AllNamespaces","supported":true}]}`)
	f.Fuzz(func(t *testing.T, kind, value string) {
		b := &catalog.Bundle{Name: "a", Properties: []catalog.Property{property(kind, value)}}
		got, err := excerpt.Of(b)
		if err != nil {
			return
		}
		if !got.CSV && (got.Complete || len(got.InstallModes) > 0 || got.MinKube != "") {
			t.Errorf("no ClusterServiceVersion, but fields of it: %+v", got)
		}
		b.Properties = append(b.Properties, b.Properties...)
		twice, err := excerpt.Of(b)
		fail.On(t, err)
		if twice.CSV != got.CSV || twice.MinKube != got.MinKube || !cmp.Equal(twice.InstallModes, got.InstallModes) {
			t.Errorf("read twice, the results differ: %+v, %+v", got, twice)
		}
	})
}
