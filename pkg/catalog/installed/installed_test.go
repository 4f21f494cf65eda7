package installed_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// plain ignores unexported fields: the name of the file.
var plain = cmpopts.IgnoreUnexported(installed.Operator{})

func read(t *testing.T, name string) []installed.Operator {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	fail.On(t, err)
	defer func() { _ = f.Close() }()
	c, err := installed.Read(name, f)
	fail.On(t, err)
	return c.Operators
}

// quay returns the operator of its ClusterServiceVersion.
func quay() installed.Operator {
	return installed.Operator{
		Generation: graph.Classic, Name: "quay-operator.v3.9.1", Namespace: "registry",
		Package: "quay-operator", Bundle: "quay-operator.v3.9.1", Version: "3.9.1", MaxOpenShift: "4.18",
		APIs: []installed.API{
			{Group: "quay.example.com", Version: "v1alpha1", Kind: "QuayEcosystem"},
			{Group: "quay.example.com", Version: "v1", Kind: "QuayRegistry"},
		},
		Origin: "csv.json: ClusterServiceVersion registry/quay-operator.v3.9.1",
	}
}

func pipelines() installed.Operator {
	return installed.Operator{
		Generation: graph.Classic, Name: "pipelines.v1.15.0", Namespace: "openshift-operators",
		Package: "pipelines", Bundle: "pipelines.v1.15.0", Version: "1.15.0",
		Origin: "csv.json: ClusterServiceVersion openshift-operators/pipelines.v1.15.0",
		Notes:  []string{"its installation failed (ComponentUnhealthy); OLM updates it when that is fixed, or if the OperatorGroup's upgradeStrategy allows failing forward"},
	}
}

func TestReadClusterServiceVersions(t *testing.T) {
	t.Parallel()
	want := []installed.Operator{
		{
			Generation: graph.Classic, Name: "lonely.v0.1.0", Namespace: "lonely", Bundle: "lonely.v0.1.0", Version: "0.1.0",
			Origin: "csv.json: ClusterServiceVersion lonely/lonely.v0.1.0",
			Notes:  []string{"its package is unknown: the ClusterServiceVersion has neither the annotation operatorframework.io/properties nor exactly one label operators.coreos.com/PACKAGE.NAMESPACE; add its Subscription to the input"},
		},
		pipelines(),
		quay(),
	}
	fail.Diff(t, want, read(t, "csv.json"), plain)
}

func TestReadClusterExtensions(t *testing.T) {
	t.Parallel()
	want := []installed.Operator{{
		Generation: graph.V1, Name: "argo", Package: "argocd-operator", Bundle: "argocd-operator.v0.6.0", Version: "0.6.0",
		Channels: []string{"fast", "stable"}, Range: "0.x", SelfCertified: true,
		Origin: "clusterextensions.json: ClusterExtension argo",
	}}
	fail.Diff(t, want, read(t, "clusterextensions.json"), plain)
}

func TestMerge(t *testing.T) {
	t.Parallel()
	lonely := installed.Operator{
		Generation: graph.Classic, Name: "lonely.v0.1.0", Namespace: "lonely", Package: "lonely-operator",
		Bundle: "lonely.v0.1.0", Version: "0.1.0", Catalog: "openshift-marketplace/mine",
		Origin: "csv.json: ClusterServiceVersion lonely/lonely.v0.1.0",
	}
	q := quay()
	q.Channels = []string{"stable-3.9"}
	q.Catalog = "openshift-marketplace/redhat-operators"
	q.Notes = []string{"an update to quay-operator.v3.9.2 is in progress or waits for approval"}
	want := []installed.Operator{lonely, pipelines(), q}

	versions, subscriptions := read(t, "csv.json"), read(t, "subscriptions.yaml")
	for name, lists := range map[string][][]installed.Operator{
		"versions first":      {versions, subscriptions},
		"subscriptions first": {subscriptions, versions},
		"twice":               {versions, subscriptions, versions, subscriptions},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := installed.Merge(lists...)
			fail.Diff(t, want, got, plain, cmpopts.EquateEmpty())
		})
	}
}

// Two clusters may run the same bundle and follow different channels.
func TestMergeClusters(t *testing.T) {
	t.Parallel()
	version := installed.Operator{Generation: graph.Classic, Name: "a.v1", Namespace: "a", Package: "a", Bundle: "a.v1", Version: "1.0.0"}
	stable, fast := version, version
	stable.Version, fast.Version = "", ""
	stable.Channels, fast.Channels = []string{"stable"}, []string{"fast"}
	got := installed.Merge([]installed.Operator{stable, version}, []installed.Operator{fast, version})
	stable.Version, fast.Version = "1.0.0", "1.0.0"
	fail.Diff(t, []installed.Operator{fast, stable}, got, plain)
}

func TestEntry(t *testing.T) {
	t.Parallel()
	var got []imageset.Installed
	for _, o := range installed.Merge(read(t, "subscriptions.yaml"), read(t, "clusterextensions.json")) {
		got = append(got, o.Entry())
	}
	pos := func(file string) imageset.Position { return imageset.Position{File: file} }
	want := []imageset.Installed{
		{Pos: pos("clusterextensions.json"), Package: "argocd-operator", Bundle: "argocd-operator.v0.6.0", Version: "0.6.0"},
		{Pos: pos("subscriptions.yaml"), Package: "lonely-operator", Bundle: "lonely.v0.1.0"},
		{Pos: pos("subscriptions.yaml"), Package: "quay-operator", Bundle: "quay-operator.v3.9.1", Channel: "stable-3.9"},
	}
	fail.Diff(t, want, got)
}

func TestReadForms(t *testing.T) {
	t.Parallel()
	const subscription = `{"apiVersion":"operators.coreos.com/v1alpha1","kind":"Subscription","metadata":{"name":"s","namespace":"n"},"spec":{"name":"p","channel":"c"},"status":{"installedCSV":"p.v1"}}`
	const extension = `{"status":{"install":{"bundle":{"name":"q.v1","version":"1.0.0"}}},"spec":{"source":{"catalog":{"packageName":"q"}}},"metadata":{"name":"x"},"kind":"ClusterExtension","apiVersion":"olm.operatorframework.io/v1"}`
	const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[]}}`
	tests := map[string]struct {
		input string
		want  []string // packages
	}{
		"one object":             {subscription, []string{"p"}},
		"two objects":            {subscription + extension, []string{"p", "q"}},
		"byte order mark":        {"\ufeff \n" + subscription, []string{"p"}},
		"a list of several":      {`{"kind":"List","apiVersion":"v1","items":[` + pod + `,` + extension + `,` + subscription + `]}`, []string{"p", "q"}},
		"kind after the items":   {`{"items":[{"metadata":{"name":"s","namespace":"n"},"spec":{"name":"p"},"status":{"installedCSV":"p.v1"}}],"kind":"SubscriptionList","apiVersion":"operators.coreos.com/v1alpha1"}`, []string{"p"}},
		"JSON in YAML documents": {"---\n" + subscription + "\n--- # next\n" + extension + "\n", []string{"p", "q"}},
		"YAML documents":         {"# printed\n---\n---\napiVersion: olm.operatorframework.io/v1\nkind: ClusterExtension\nmetadata: {name: x}\nspec: {source: {catalog: {packageName: q}}}\nstatus: {install: {bundle: {name: q.v1, version: 1.0.0}}}\n---\r\n", []string{"q"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := installed.Read("f", strings.NewReader(test.input))
			fail.On(t, err)
			got := elements.Map(c.Operators, func(o installed.Operator) string { return o.Package })
			fail.Diff(t, test.want, got)
		})
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	const wanted = "the input must be the output of `oc get csv -A -o json`, `oc get subscriptions.operators.coreos.com -A -o json`, `oc get clusterextension -o json` or `oc get clusterversion,clusteroperators -o json`, also with `oc get operatorconditions -A -o json`"
	tests := map[string]struct{ input, want string }{
		"empty":             {" \n", "it is empty; " + wanted},
		"a table":           {"NAMESPACE   NAME   PACKAGE\nfoo   bar   baz\n", "the YAML document that begins on line 1: it does not contain Kubernetes objects; print them with -o json: " + wanted},
		"other kinds":       {`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}}`, "it has Pod of v1; " + wanted},
		"empty list":        {`{"apiVersion":"v1","kind":"List","items":[]}`, "its list is empty: nothing is installed, or the user who printed it may not see it; " + wanted},
		"a null list":       {`{"apiVersion":"v1","kind":"List","items":null}`, "its list is empty"},
		"no object":         {"---\n", "it has no objects; " + wanted},
		"other API group":   {`{"apiVersion":"apps.open-cluster-management.io/v1","kind":"Subscription","metadata":{"name":"x"}}`, "it has Subscriptions that are not OLM's; print those of OLM with `oc get subscriptions.operators.coreos.com -A -o json`"},
		"nothing installed": {`{"apiVersion":"operators.coreos.com/v1alpha1","kind":"Subscription","metadata":{"name":"x"}}`, "nothing is installed: none of its 1 objects is an installed operator or a running cluster"},
		"truncated":         {`{"apiVersion":"v1","kind":"List","items":[{"kind":"Pod"`, "the JSON ends early; check that the file is complete"},
		"invalid JSON":      {`{"apiVersion":"v1",,}`, "the JSON is invalid at byte 19:"},
		"invalid YAML":      {"a: b\n---\na: [\n", "the YAML document that begins on line 2 is invalid:"},
		"a duplicate key":   {"kind: a\nkind: b\n", "the YAML document that begins on line 1 is invalid:"},
		"wrong type":        {`{"apiVersion":"operators.coreos.com/v1alpha1","kind":"Subscription","metadata":{"name":"x","namespace":"n"},"spec":{"channel":["stable"]}}`, "Subscription n/x: spec.channel has a JSON ["},
		"items no list":     {`{"apiVersion":"v1","kind":"List","items":{}}`, "the items of a list are not a list"},
		"labels no map":     {`{"apiVersion":"v1","kind":"List","items":[{"kind":"Pod","metadata":{"labels":7}}]}`, "items.0.metadata.labels has a JSON number"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := installed.Read("f.json", strings.NewReader(test.input))
			if err == nil {
				t.Fatal("got no error")
			}
			if want := "reading what is installed from f.json: " + test.want; !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got error\n%s\nwant\n%s", err, want)
			}
		})
	}
}

// blanks is an endless input.
type blanks string

func (b blanks) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = b[i%len(b)]
	}
	return len(p), nil
}

func TestReadLimits(t *testing.T) {
	t.Parallel()
	if _, err := installed.Read("f", blanks("kind: a\n")); err == nil || !strings.Contains(err.Error(), "more than 32 MiB of YAML; print it with -o json") {
		t.Errorf("endless YAML: got %v", err)
	}
	if testing.Short() {
		return
	}
	if _, err := installed.Read("f", blanks("{}")); err == nil || !strings.Contains(err.Error(), "more than 1000000 objects") {
		t.Errorf("endless objects: got %v", err)
	}
}

func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.*")
	fail.On(f, err)
	for _, name := range files {
		text, err := os.ReadFile(name)
		fail.On(f, err)
		f.Add(string(text))
	}
	f.Add("---\nkind: List\nitems: [{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := installed.Read("f", strings.NewReader(text))
		if err != nil {
			return
		}
		if len(c.Operators)+len(c.Versions) == 0 && !strings.Contains(text, "Condition") && !strings.Contains(text, "ClusterOperator") {
			t.Fatal("got neither operators, clusters nor an error")
		}
		for _, c := range c.Versions {
			if c.Version == "" || !strings.HasPrefix(c.Origin, "f: ClusterVersion") {
				t.Errorf("a cluster without version or origin: %+v", c)
			}
		}
		for _, o := range c.Operators {
			if o.Bundle == "" || o.Origin == "" {
				t.Errorf("an operator without bundle or origin: %+v", o)
			}
		}
		again := installed.Merge(c.Operators, slices.Clone(c.Operators))
		fail.Diff(t, c.Operators, again, plain, cmpopts.EquateEmpty())
	})
}

// TestReadImages reads the images of a ClusterServiceVersion, and merges them with its Subscription.
func TestReadImages(t *testing.T) {
	t.Parallel()
	const input = `{"apiVersion":"operators.coreos.com/v1alpha1","kind":"Subscription","metadata":{"name":"s","namespace":"zoo"},"spec":{"name":"p"},"status":{"installedCSV":"p.v1.0.0"}}
{"apiVersion":"operators.coreos.com/v1alpha1","kind":"ClusterServiceVersion","metadata":{"name":"p.v1.0.0","namespace":"zoo"},"spec":{"version":"1.0.0",
"relatedImages":[{"name":"x","image":"quay.io/x/b:v1"},{"name":"none"}],
"install":{"spec":{"deployments":[{"spec":{"template":{"spec":{"containers":[{"image":"quay.io/x/a:v1"}],"initContainers":[{"image":"quay.io/x/b:v1"},{"image":"quay.io/x/c:v1"}]}}}}]}}}}`
	c, err := installed.Read("f", strings.NewReader(input))
	fail.On(t, err)
	if len(c.Operators) != 1 {
		t.Fatalf("got %+v", c.Operators)
	}
	fail.Diff(t, []string{"quay.io/x/a:v1", "quay.io/x/b:v1", "quay.io/x/c:v1"}, c.Operators[0].Images)
}
