package resources

import (
	"bytes"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

const head = "apiVersion: operators.coreos.com/v1alpha1\nkind: CatalogSource\n"

func jsonOf(t testing.TB, text []byte) string {
	t.Helper()
	b, err := yaml.YAMLToJSON(text)
	fail.On(t, err)
	return string(b)
}

func fromTemplate(t testing.TB, text string) Catalog {
	return Catalog{
		Source:       "quay.io/org/index:v1",
		Mirror:       ref(t, "mirror.local:5000/org/index:v1#catalog"),
		Template:     []byte(text),
		TemplateName: "template.yaml",
	}
}

func TestTemplateErrors(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"empty", "", "does not contain a YAML object"},
		{"null", "---\n", "does not contain a YAML object"},
		{"list", "- a\n", "does not contain a YAML object"},
		{"not YAML", "a: b: c\n", "mapping values are not allowed"},
		{"tab", head + "spec:\n\tpriority: 1\n", "line 4"},
		{"duplicate key", head + "spec: {priority: 1, priority: 2}\n", `"priority" already set`},
		{"no kind", "apiVersion: operators.coreos.com/v1alpha1\n", "kind is missing; it must be CatalogSource"},
		{"kind", "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterCatalog\n", "kind is ClusterCatalog; it must be CatalogSource"},
		{"version", "apiVersion: operators.coreos.com/v1\nkind: CatalogSource\n", "apiVersion is operators.coreos.com/v1; it must be operators.coreos.com/v1alpha1"},
		{"two documents", head + "---\n" + head, "more than one YAML document"},
		{"too long", head + "# " + strings.Repeat("x", maxTemplate), "the limit is 1048576"},
		{"metadata", head + "metadata: x\n", "metadata is not an object"},
		{"spec", head + "spec: [a]\n", "spec is not an object"},
		{"name", head + "metadata: {name: My_Catalog}\n", `metadata.name "My_Catalog": use lower case letters`},
		{"name with a dot", head + "metadata: {name: a.b}\n", `metadata.name "a.b"`},
		{"name with a digit first", head + "metadata: {name: 4a}\n", `metadata.name "4a"`},
		{"long name", head + "metadata: {name: " + strings.Repeat("a", 64) + "}\n", "has 64 characters, at most 63"},
		{"name as a number", head + "metadata: {name: 5}\n", "metadata.name is a number; want a string"},
		{"generateName", head + "metadata: {generateName: a-}\n", "metadata.generateName cannot be applied twice"},
		{"namespace", head + "metadata: {namespace: A}\n", `metadata.namespace "A"`},
		{"label", head + "metadata: {labels: {a: true}}\n", "metadata.labels.a is the word true; want a string"},
		{"annotation", head + "metadata: {annotations: [a]}\n", "metadata.annotations is a list; want an object"},
		{"priority", head + "spec: {priority: high}\n", "spec.priority is a string; want a whole number"},
		{"priority with a fraction", head + "spec: {priority: 1.5}\n", "spec.priority is a number; want a whole number"},
		{"secrets", head + "spec: {secrets: a}\n", "spec.secrets is a string; want a list"},
		{"secret", head + "spec: {secrets: [{name: a}]}\n", "spec.secrets.0 is an object; want a string"},
		{"security context", head + "spec: {grpcPodConfig: {securityContextConfig: restrictd}}\n", `is "restrictd"; want legacy or restricted; did you mean "restricted"?`},
		{"memory", head + "spec: {grpcPodConfig: {memoryTarget: much}}\n", `memoryTarget is "much"; want a quantity`},
		{"memory as a list", head + "spec: {grpcPodConfig: {memoryTarget: []}}\n", "memoryTarget is not a quantity"},
		{"catalogDir", head + "spec: {grpcPodConfig: {extractContent: {cacheDir: /c}}}\n", "extractContent.catalogDir is missing"},
		{"poll", head + "spec: {updateStrategy: {registryPoll: 30m}}\n", "spec.updateStrategy.registryPoll is a string; want an object"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files, _, err := Build(nil, []Catalog{fromTemplate(t, tc.text)}, Options{})
			if err == nil {
				t.Fatalf("accepted: %s", files[len(files)-1].Text)
			}
			want := "catalog quay.io/org/index:v1: reading targetCatalogSourceTemplate template.yaml: "
			if !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error is %q, want %q and %q in it", err, want, tc.want)
			}
		})
	}
}

func TestTemplateNotes(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"nothing", head + "spec: {displayName: Mine}\n", ""},
		{"misspelt", head + "spec: {displayname: Mine}\n", `spec.displayname is not a field of CatalogSource; the cluster will refuse or drop it; did you mean "displayName"?`},
		{"image template", head + "metadata: {annotations: {olm.catalogImageTemplate: 'quay.io/a:v{kube_major_version}'}}\n",
			"its annotation olm.catalogImageTemplate makes OLM replace the mirrored catalog with quay.io/a:v{kube_major_version}, and the mirror has none of these images; " +
				"remove the annotation, or mirror the platform releases that the clusters run"},
		{"another folder", head + "spec: {grpcPodConfig: {extractContent: {catalogDir: /catalog}}}\n",
			"spec.grpcPodConfig.extractContent.catalogDir is /catalog, but the catalog is in /configs; the catalog's pod will not start"},
		{"the same folder", head + "spec: {grpcPodConfig: {extractContent: {catalogDir: /configs/}}}\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := fromTemplate(t, tc.text)
			c.BinaryLess = true
			_, notes, err := Build(nil, []Catalog{c}, Options{})
			fail.On(t, err)
			var want []string
			if tc.want != "" {
				want = []string{"catalog quay.io/org/index:v1, template template.yaml: " + tc.want}
			}
			fail.Diff(t, want, notes)
		})
	}
}

// TestTemplateCache checks that a CatalogSource never names a cache: the pod would not start if the
// cache is missing or does not match.
func TestTemplateCache(t *testing.T) {
	text := head + "spec: {grpcPodConfig: {memoryTarget: 30Mi, extractContent: {catalogDir: /configs, cacheDir: /tmp/cache}}}\n"
	for name, c := range map[string]Catalog{
		"without a program": {BinaryLess: true},
		"with opm":          {ConfigsDir: "/configs"},
		"in another folder": {ConfigsDir: "/catalog"},
		"unknown folder":    {},
	} {
		t.Run(name, func(t *testing.T) {
			from := fromTemplate(t, text)
			from.BinaryLess, from.ConfigsDir = c.BinaryLess, c.ConfigsDir
			files, notes, err := Build(nil, []Catalog{from}, Options{})
			fail.On(t, err)
			const prefix = "catalog quay.io/org/index:v1, template template.yaml: spec.grpcPodConfig.extractContent."
			want := []string{prefix + "cacheDir (/tmp/cache) was removed: the catalog's pod would not start with a cache that does not match; opm creates its own"}
			if c.ConfigsDir == "/catalog" {
				want = append(want, prefix+"catalogDir is /configs, but the catalog is in /catalog; the catalog's pod will not start")
			}
			fail.Diff(t, want, notes)
			var source struct {
				Spec struct{ GrpcPodConfig map[string]any }
			}
			fail.On(t, yaml.Unmarshal(files[1].Text, &source))
			wantPod := map[string]any{"memoryTarget": "30Mi", "extractContent": map[string]any{"catalogDir": "/configs"}}
			fail.Diff(t, wantPod, source.Spec.GrpcPodConfig)
		})
	}
}

// FuzzTemplate checks that an accepted template is written as YAML that is accepted too, and does
// not change when it is written again.
func FuzzTemplate(f *testing.F) {
	for _, s := range []string{
		head,
		head + "metadata: {name: a, namespace: b, labels: {x: 'y'}, uid: 1}\nspec: {priority: -100, secrets: [s], more: {a: 1e400, b: 18446744073709551616}}\nstatus: {}\n",
		head + "spec: {updateStrategy: {registryPoll: {interval: 30m}}, displayName: 'no'}\n",
		head + "spec:\n  icon: {base64data: AA==, mediatype: image/png}\n  grpcPodConfig: {memoryTarget: 30Mi, tolerations: [{key: a}]}\n",
		head + "spec: &a {x: *a}\n",
		head + "x: &a [1, 2]\ny: *a\nz: {<<: {p: 1}, q: 2}\n~: 1\n1: 2\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c := fromTemplate(t, "")
		c.Template = append([]byte{}, text...)
		c.BinaryLess = true
		files, _, err := Build(nil, []Catalog{c}, Options{})
		if err != nil {
			return
		}
		c.Template = files[1].Text
		again, _, err := Build(nil, []Catalog{c}, Options{})
		if err != nil {
			t.Fatalf("wrote what is not accepted: %v\n%s", err, files[1].Text)
		}
		if !bytes.Equal(files[1].Text, again[1].Text) {
			t.Fatalf("not stable:\n%s\nthen:\n%s", files[1].Text, again[1].Text)
		}
	})
}
