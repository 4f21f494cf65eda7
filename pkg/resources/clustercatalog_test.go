package resources

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

const clusterHead = "apiVersion: olm.operatorframework.io/v1\nkind: ClusterCatalog\n"

// fullClusterTemplate sets what a template can set, as `oc get clustercatalog -o yaml` prints it.
const fullClusterTemplate = clusterHead + `metadata:
  name: ours
  uid: 4ad8b0d1-41d5-4b39-8b0a-4ad8b0d141d5
  generation: 2
  labels:
    team: platform
    olm.operatorframework.io/metadata.name: theirs
  annotations:
    example.com/contact: platform@example.com
    kubectl.kubernetes.io/last-applied-configuration: "{}"
spec:
  availabilityMode: Unavailable
  priority: -100
  source:
    type: Image
    image:
      pollIntervalMinutes: 30
      ref: quay.io/org/ours:latest
status:
  conditions: []
`

func fromClusterTemplate(t testing.TB, text string) Catalog {
	c := fromTemplate(t, "")
	c.Template, c.TemplateName = nil, ""
	c.ClusterCatalogTemplate, c.ClusterCatalogTemplateName = []byte(text), "cc.yaml"
	return c
}

func TestClusterTemplate(t *testing.T) {
	const spec = "  source:\n    image:\n      ref: mirror.local:5000/org/index@sha256:"
	for _, tc := range []struct {
		name, text, want, note string
		object                 ClusterCatalog
	}{
		{"nothing", clusterHead, "metadata:\n  name: cc-index-v1\nspec:\n" + spec, "", ClusterCatalog{Name: "cc-index-v1"}},
		{"name", clusterHead + "metadata: {name: ours}\n", "metadata:\n  name: ours\nspec:\n" + spec, "", ClusterCatalog{Name: "ours"}},
		{"labels", clusterHead + "metadata: {labels: {team: a, olm.operatorframework.io/metadata.name: b}}\n",
			"metadata:\n  labels:\n    team: a\n  name: cc-index-v1\n", "", ClusterCatalog{Name: "cc-index-v1", Labels: map[string]string{"team": "a"}}},
		{"the label of the cluster", clusterHead + "metadata: {labels: {olm.operatorframework.io/metadata.name: b}}\n", "metadata:\n  name: cc-index-v1\n", "",
			ClusterCatalog{Name: "cc-index-v1", Labels: map[string]string{}}},
		{"annotations", clusterHead + "metadata: {annotations: {example.com/a: b}}\n", "metadata:\n  annotations:\n    example.com/a: b\n", "", ClusterCatalog{Name: "cc-index-v1"}},
		{"settings", clusterHead + "spec: {priority: 5, availabilityMode: Unavailable}\n", "spec:\n  availabilityMode: Unavailable\n  priority: 5\n" + spec, "",
			ClusterCatalog{Name: "cc-index-v1", Priority: 5, Unavailable: true}},
		{"available", clusterHead + "spec: {availabilityMode: Available}\n", "spec:\n  availabilityMode: Available\n" + spec, "", ClusterCatalog{Name: "cc-index-v1"}},
		{"poll", clusterHead + "spec: {source: {image: {pollIntervalMinutes: 10}}}\n",
			"      pollIntervalMinutes: 10\n      ref: mirror.local:5000/org/index:v1\n    type: Image\n", "", ClusterCatalog{Name: "cc-index-v1"}},
		{"image", clusterHead + "spec: {source: {type: Image, image: {ref: 'quay.io/org/index:v1'}}}\n", spec,
			"spec.source is ignored except for pollIntervalMinutes: the image is that in the mirror", ClusterCatalog{Name: "cc-index-v1"}},
		{"type", clusterHead + "spec: {source: {type: Git}}\n", "    type: Image\n",
			"spec.source is ignored except for pollIntervalMinutes: the image is that in the mirror", ClusterCatalog{Name: "cc-index-v1"}},
		{"no source", clusterHead + "spec: {source: null}\n", spec, "", ClusterCatalog{Name: "cc-index-v1"}},
		{"namespace", clusterHead + "metadata: {namespace: olm}\n", "metadata:\n  name: cc-index-v1\n", "metadata.namespace was removed: a ClusterCatalog has none", ClusterCatalog{Name: "cc-index-v1"}},
		{"misspelled", clusterHead + "spec: {prority: 5}\n", "  prority: 5\n",
			`spec.prority is not a field of ClusterCatalog; the cluster will refuse or drop it; did you mean "priority"?`, ClusterCatalog{Name: "cc-index-v1"}},
		{"misspelled interval", clusterHead + "spec: {source: {image: {pollIntervalMinute: 5}}}\n", "      pollIntervalMinute: 5\n",
			`spec.source.image.pollIntervalMinute is not a field of ClusterCatalog; the cluster will refuse or drop it; did you mean "pollIntervalMinutes"?`, ClusterCatalog{Name: "cc-index-v1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := fromClusterTemplate(t, tc.text)
			files, notes, err := Build(nil, []Catalog{c}, Options{})
			fail.On(t, err)
			if files[0].Name != "cc-index-v1.yaml" || !strings.Contains(string(files[0].Text), tc.want) {
				t.Errorf("%s does not contain\n%s\n%s", files[0].Name, tc.want, files[0].Text)
			}
			var want []string
			if tc.note != "" {
				want = []string{"catalog quay.io/org/index:v1, template cc.yaml: " + tc.note}
			}
			fail.Diff(t, want, notes)
			c.Name = "index-v1"
			object, err := c.ClusterCatalog()
			fail.On(t, err)
			fail.Diff(t, tc.object, object)
		})
	}
}

func TestClusterTemplateErrors(t *testing.T) {
	const polled = clusterHead + "spec: {source: {image: {pollIntervalMinutes: 10}}}\n"
	at := func(mirror string) func(*Catalog) { return func(c *Catalog) { c.Mirror = ref(t, mirror) } }
	unchanged := func(*Catalog) {}
	for _, tc := range []struct {
		name, text string
		alter      func(c *Catalog)
		want       string
	}{
		{"empty", "", unchanged, "does not contain a YAML object"},
		{"kind", head, unchanged, "kind is CatalogSource; it must be ClusterCatalog"},
		{"version", "apiVersion: olm.operatorframework.io/v1alpha1\nkind: ClusterCatalog\n", unchanged, "apiVersion is olm.operatorframework.io/v1alpha1; it must be olm.operatorframework.io/v1"},
		{"two documents", clusterHead + "---\n" + clusterHead, unchanged, "keep only the ClusterCatalog"},
		{"name", clusterHead + "metadata: {name: My_Catalog}\n", unchanged, `metadata.name "My_Catalog": use lower case letters`},
		{"long name", clusterHead + "metadata: {name: " + strings.Repeat("a", 64) + "}\n", unchanged, "has 64 characters, at most 63"},
		{"name of a default catalog", clusterHead + "metadata: {name: openshift-redhat-operators}\n", unchanged, "is the name of a default catalog of OpenShift"},
		{"label", clusterHead + "metadata: {labels: {a: 1}}\n", unchanged, "metadata.labels.a is a number; want a string"},
		{"priority", clusterHead + "spec: {priority: high}\n", unchanged, "spec.priority is a string; want a whole number of 32 bits"},
		{"large priority", clusterHead + "spec: {priority: 2147483648}\n", unchanged, "spec.priority is a number; want a whole number of 32 bits"},
		{"small priority", clusterHead + "spec: {priority: -2147483649}\n", unchanged, "spec.priority is a number; want a whole number of 32 bits"},
		{"mode", clusterHead + "spec: {availabilityMode: unavailable}\n", unchanged, `spec.availabilityMode is "unavailable"; want Available or Unavailable; did you mean "Unavailable"`},
		{"no mode", clusterHead + "spec: {availabilityMode: ''}\n", unchanged, `spec.availabilityMode is ""; want Available or Unavailable`},
		{"interval", clusterHead + "spec: {source: {image: {pollIntervalMinutes: 0}}}\n", unchanged, "pollIntervalMinutes is 0; want at least 1"},
		{"interval with a unit", clusterHead + "spec: {source: {image: {pollIntervalMinutes: 10m}}}\n", unchanged, "spec.source.image.pollIntervalMinutes is a string; want a whole number"},
		{"source", clusterHead + "spec: {source: quay.io/a/b}\n", unchanged, "spec.source is a string; want an object"},
		{"poll without a tag", polled, func(c *Catalog) { c.Mirror.Tag = "" }, "pollIntervalMinutes needs a catalog with a tag; set targetTag"},
		// 5000/, 121 characters, :v are 128.
		{"poll with a long path", polled, at("mirror.local:5000/" + strings.Repeat("a", 121) + ":v#catalog"), "a ClusterCatalog allows 127 characters after the first colon of mirror.local:5000/"},
		{"poll with a long tag", polled, at("mirror.local/org/index:" + strings.Repeat("v", 128) + "#catalog"), "allows 127 characters"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := fromClusterTemplate(t, tc.text)
			tc.alter(&c)
			files, _, err := Build(nil, []Catalog{c}, Options{})
			if err == nil {
				t.Fatalf("accepted: %s", files[0].Text)
			}
			want := "catalog quay.io/org/index:v1: reading targetClusterCatalogTemplate cc.yaml: "
			if !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error is %q, want %q and %q in it", err, want, tc.want)
			}
		})
	}
	for name, mirror := range map[string]string{
		"the longest path with a port": "mirror.local:5000/" + strings.Repeat("a", 120) + ":v#catalog",
		"a long path without a port":   "mirror.local/" + strings.Repeat("path/", 50) + "index:v1#catalog",
	} {
		c := fromClusterTemplate(t, polled)
		c.Mirror = ref(t, mirror)
		if _, _, err := Build(nil, []Catalog{c}, Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := fromClusterTemplate(t, "kind: Pod\n").ClusterCatalog(); err == nil || !strings.Contains(err.Error(), "cc.yaml") {
		t.Errorf("of an invalid template: %v", err)
	}
}

// TestClusterTemplateNames checks that two ClusterCatalogs never have one name, and that a
// CatalogSource and a ClusterCatalog may share a name.
func TestClusterTemplateNames(t *testing.T) {
	named := func(source, name string) Catalog {
		c := fromClusterTemplate(t, clusterHead+"metadata: {name: "+name+"}\n")
		c.Source, c.Mirror = source, ref(t, strings.Replace(source, "quay.io", "mirror.local", 1)+"#1")
		return c
	}
	for _, second := range []string{"same", "cc-x-1"} {
		first := named("quay.io/a/x:1", "same")
		if second == "cc-x-1" {
			first.ClusterCatalogTemplate = nil
		}
		_, _, err := Build(nil, []Catalog{named("quay.io/b/y:1", second), first}, Options{})
		want := "catalog quay.io/b/y:1: reading targetClusterCatalogTemplate cc.yaml: catalog quay.io/a/x:1 also has the name " + second + "; change metadata.name"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
	c := named("quay.io/a/x:1", "same")
	c.Template = []byte(head + "metadata: {name: same}\n")
	if _, _, err := Build(nil, []Catalog{c}, Options{}); err != nil {
		t.Errorf("a CatalogSource and a ClusterCatalog of one name: %v", err)
	}
}

// FuzzClusterTemplate checks that an accepted template is written as YAML that is accepted too, and does
// not change when it is written again.
func FuzzClusterTemplate(f *testing.F) {
	for _, s := range []string{
		clusterHead, fullClusterTemplate,
		clusterHead + "spec: {priority: 2147483647, source: {image: {pollIntervalMinutes: 9223372036854775807, more: [1e400]}}}\n",
		clusterHead + "metadata: {labels: null, namespace: a}\nspec: {source: {image: null}, x: &a [1], y: *a}\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c := fromClusterTemplate(t, string(text))
		files, _, err := Build(nil, []Catalog{c}, Options{})
		if err != nil {
			return
		}
		c.ClusterCatalogTemplate = files[0].Text
		again, _, err := Build(nil, []Catalog{c}, Options{})
		if err != nil {
			t.Fatalf("wrote what is not accepted: %v\n%s", err, files[0].Text)
		}
		if !bytes.Equal(files[0].Text, again[0].Text) {
			t.Fatalf("not stable:\n%s\nthen:\n%s", files[0].Text, again[0].Text)
		}
	})
}
