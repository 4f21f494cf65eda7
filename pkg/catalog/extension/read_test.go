package extension_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog/extension"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

const manifests = `apiVersion: v1
kind: Namespace
metadata: {name: argocd}
---
apiVersion: olm.operatorframework.io/v1
kind: ClusterExtension
metadata:
  name: argocd
  annotations: {note: "any"}
spec:
  namespace: argocd
  serviceAccount:
    name: argocd-installer
  source:
    sourceType: Catalog
    catalog:
      packageName: argocd-operator
      version: ">=0.6.0 <1.0.0 || ^2"
      channels: [alpha, "1.1.x"]
      upgradeConstraintPolicy: SelfCertified
      selector:
        matchLabels:
          olm.operatorframework.io/metadata.name: operatorhubio
        matchExpressions:
        - key: example.com/support
          operator: NotIn
          values: [none, ""]
        - {key: tier, operator: Exists}
  install:
    preflight:
      crdUpgradeSafety: {enforcement: None}
  config:
    configType: Inline
    inline: {watchNamespace: argocd, deploymentConfig: {env: []}}
status:
  conditions:
  - {type: Installed, status: "True"}
  install:
    bundle: {name: argocd-operator.v0.6.0, version: 0.6.0}
---
apiVersion: v1
kind: List
items:
- apiVersion: olm.operatorframework.io/v1
  kind: ClusterCatalog
  metadata:
    name: operatorhubio
    labels: {example.com/support: true-ish, tier: ""}
  spec:
    priority: -5
    availabilityMode: Unavailable
    source:
      type: Image
      image: {ref: "quay.io/operatorhubio/catalog:latest", pollIntervalMinutes: 10}
  status: {urls: {base: "https://x"}}
`

func TestRead(t *testing.T) {
	t.Parallel()
	extensions, catalogs, err := extension.Read("m.yaml", strings.NewReader(manifests))
	fail.On(t, err)
	wantExtensions := []extension.Extension{{
		Name: "argocd", Package: "argocd-operator", Channels: []string{"alpha", "1.1.x"}, Version: ">=0.6.0 <1.0.0 || ^2",
		Selector: extension.Selector{
			MatchLabels: map[string]string{"olm.operatorframework.io/metadata.name": "operatorhubio"},
			MatchExpressions: []extension.Requirement{
				{Key: "example.com/support", Operator: "NotIn", Values: []string{"none", ""}},
				{Key: "tier", Operator: "Exists"},
			},
		},
		SelfCertified: true, WatchNamespace: "argocd",
		Installed: &extension.Installed{Name: "argocd-operator.v0.6.0", Version: "0.6.0"},
		File:      "m.yaml", Line: 5,
	}}
	fail.Diff(t, wantExtensions, extensions)
	wantCatalogs := []extension.Catalog{{
		Name: "operatorhubio", Labels: map[string]string{"example.com/support": "true-ish", "tier": ""},
		Priority: -5, Unavailable: true, Ref: "quay.io/operatorhubio/catalog:latest", File: "m.yaml", Line: 44,
	}}
	fail.Diff(t, wantCatalogs, catalogs)
}

// with returns a ClusterExtension with more lines in spec.source.catalog, after the package name.
func with(lines ...string) string {
	head := `apiVersion: olm.operatorframework.io/v1
kind: ClusterExtension
metadata: {name: x}
spec:
  namespace: x
  source:
    sourceType: Catalog
    catalog:
      packageName: p
`
	for _, line := range lines {
		head += "      " + line + "\n"
	}
	return head
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		input string
		want  []string
	}{
		"unknown field":        {with("chanels: [a]"), []string{`m.yaml:10: the API has no field "spec.source.catalog.chanels" and would drop it; did you mean "channels"?`}},
		"several problems":     {with("channels: [A_B]", "version: 1"), []string{`m.yaml:10: spec.source.catalog.channels[0]: "A_B" is not a valid channel name`, `m.yaml:11: spec.source.catalog.version: found "1", expected a string`}},
		"number for version":   {with("version: 1.2"), []string{`m.yaml:10: spec.source.catalog.version: found "1.2", expected a string; quote it if it is one`}},
		"policy":               {with("upgradeConstraintPolicy: Ignore"), []string{`m.yaml:10: spec.source.catalog.upgradeConstraintPolicy: "Ignore" is not one of the values of the API: ["CatalogProvided" "SelfCertified"]`}},
		"operator":             {with("selector: {matchExpressions: [{key: a, operator: Is}]}"), []string{`m.yaml:10: spec.source.catalog.selector.matchExpressions[0]: "Is" is not an operator; use In, NotIn, Exists or DoesNotExist`}},
		"values missing":       {with("selector: {matchExpressions: [{key: a, operator: In}]}"), []string{`m.yaml:10: spec.source.catalog.selector.matchExpressions[0]: the operator In requires values`}},
		"values too many":      {with("selector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}"), []string{`m.yaml:10: spec.source.catalog.selector.matchExpressions[0]: the operator Exists takes no values`}},
		"label key":            {with("selector: {matchLabels: {A/B/c: d}}"), []string{`m.yaml:10: spec.source.catalog.selector.matchLabels.A/B/c: "A/B/c" is not a valid label key: the prefix before the slash is not a DNS name`}},
		"label value":          {with("selector: {matchLabels: {a: b c}}"), []string{`m.yaml:10: spec.source.catalog.selector.matchLabels.a: "b c" is not a valid label value`}},
		"a list for a mapping": {with("selector: []"), []string{`m.yaml:10: spec.source.catalog.selector: found a list, expected a mapping`}},
		"duplicate field":      {with("version: 1.0.0", "version: 2.0.0"), []string{`m.yaml:11: the field "spec.source.catalog.version" is set twice; keep one`}},
		"missing fields":       {"apiVersion: olm.operatorframework.io/v1\nkind: ClusterExtension\nmetadata: {}\nspec: {source: {}}\n", []string{`m.yaml:3: metadata.name is missing`, `m.yaml:4: spec.source.sourceType is missing`, `m.yaml:4: spec.source.catalog is missing`, `m.yaml:4: spec.namespace is missing`}},
		"old version":          {"apiVersion: olm.operatorframework.io/v1alpha1\nkind: ClusterExtension\n", []string{`m.yaml:1: the ClusterExtension has apiVersion olm.operatorframework.io/v1alpha1; clusters serve olm.operatorframework.io/v1`}},
		"priority":             {"apiVersion: olm.operatorframework.io/v1\nkind: ClusterCatalog\nmetadata: {name: c}\nspec: {priority: 2147483648, source: {type: Image, image: {ref: a/b:c}}}\n", []string{`m.yaml:4: spec.priority: found "2147483648", expected an integer of 32 bits`}},
		"invalid YAML":         {"a: [\n", []string{`reading m.yaml: `}},
		"other kinds only":     {"kind: Pod\n", []string{"reading m.yaml: it has no ClusterExtension or ClusterCatalog (olm.operatorframework.io/v1); print them with `oc get clusterextension,clustercatalog -o yaml`"}},
		"no object":            {"- a\n", []string{`m.yaml:1: found a list, expected a Kubernetes object`}},
		"aliases in a cycle":   {with("selector: &a {matchLabels: *a}"), []string{`m.yaml:10: spec.source.catalog.selector.matchLabels.matchLabels: found a mapping, expected a string`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := extension.Read("m.yaml", strings.NewReader(test.input))
			if err == nil {
				t.Fatal("got no error")
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(test.want) {
				t.Fatalf("the error is\n%v\nwant %d lines", err, len(test.want))
			}
			for i, want := range test.want {
				if !strings.HasPrefix(lines[i], want) {
					t.Errorf("line %d is\n%s\nwant\n%s", i, lines[i], want)
				}
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(manifests)
	f.Add(with("version: ^1.2", "channels: [a]"))
	f.Add(with("chanels: [a]"))
	f.Fuzz(func(t *testing.T, text string) {
		extensions, catalogs, err := extension.Read("f", strings.NewReader(text))
		if err != nil {
			if len(extensions)+len(catalogs) > 0 {
				t.Error("got both objects and an error")
			}
			return
		}
		for _, e := range extensions {
			if e.Name == "" || e.Package == "" || e.Line == 0 {
				t.Errorf("a required field is missing: %+v", e)
			}
			var refused *extension.Error
			if _, err := extension.Resolve(e, nil); !errors.As(err, &refused) {
				t.Errorf("%q: got error %v", e.Version, err)
			}
			// Written and read again, it must be equal.
			written := with(fmt.Sprintf("version: %q", e.Version), fmt.Sprintf("channels: [%s]", quoted(e.Channels)))
			if e.Version == "" {
				written = with(fmt.Sprintf("channels: [%s]", quoted(e.Channels)))
			}
			again, _, err := extension.Read("f", strings.NewReader(written))
			fail.On(t, err)
			if again[0].Version != e.Version || !cmp.Equal(again[0].Channels, e.Channels) {
				t.Errorf("read again, got %+v, want %+v", again[0], e)
			}
		}
	})
}

func quoted(list []string) string {
	all := elements.Map(list, func(s string) string { return fmt.Sprintf("%q", s) })
	return strings.Join(all, ", ")
}
