package draft_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog/draft"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// The objects of a cluster that is connected to the sources.
const (
	quayCSV = `{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
  "metadata": {"name": "quay-operator.v3.9.1", "namespace": "registry", "labels": {"operators.coreos.com/quay-operator.registry": ""}},
  "spec": {"version": "3.9.1"}, "status": {"phase": "Succeeded"}}`
	quaySubscription = `{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription", "metadata": {"name": "quay", "namespace": "registry"},
  "spec": {"name": "quay-operator", "channel": "stable-3.9", "source": "redhat-operators", "sourceNamespace": "openshift-marketplace"},
  "status": {"installedCSV": "quay-operator.v3.9.1", "currentCSV": "quay-operator.v3.9.1"}}`
	redHatOperators = `{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource", "metadata": {"name": "redhat-operators", "namespace": "openshift-marketplace"},
  "spec": {"sourceType": "grpc", "image": "registry.redhat.io/redhat/redhat-operator-index:v4.18"}}`
	cluster418 = `{"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
  "spec": {"clusterID": "c1", "channel": "eus-4.18"}, "status": {"desired": {"version": "4.18.3"}, "history": [{"state": "Completed", "version": "4.18.3"}]}}`
	cluster418b = `{"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
  "spec": {"clusterID": "c2", "channel": "eus-4.18", "upstream": "https://osus.example.com/graph"},
  "status": {"desired": {"version": "4.18.20", "architecture": "Multi"}, "history": [{"state": "Completed", "version": "4.18.20"}]}}`
	extension = `{"apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterExtension", "metadata": {"name": "argo"},
  "spec": {"source": {"catalog": {"packageName": "argocd-operator", "version": "<0.9.0",
    "selector": {"matchLabels": {"olm.operatorframework.io/metadata.name": "community"}}}}},
  "status": {"install": {"bundle": {"name": "argocd-operator.v0.8.0", "version": "0.8.0"}}}}`
	community = `{"apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog", "metadata": {"name": "community"},
  "spec": {"source": {"type": "Image", "image": {"ref": "quay.io/operatorhubio/catalog:latest"}}}}`
	other = `{"apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog", "metadata": {"name": "other"},
  "spec": {"source": {"type": "Image", "image": {"ref": "quay.io/other/catalog:latest"}}}}`
	anyExtension = `{"apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterExtension", "metadata": {"name": "argo"},
  "spec": {"source": {"catalog": {"packageName": "argocd-operator"}}},
  "status": {"install": {"bundle": {"name": "argocd-operator.v0.8.0", "version": "0.8.0"}}}}`
	// The same catalogs at a mirror.
	mirroredRedHat = `{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource", "metadata": {"name": "redhat-operators", "namespace": "openshift-marketplace"},
  "spec": {"image": "mirror.example.com:5000/ocp/redhat/redhat-operator-index@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}}`
	ourTeam = `{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource", "metadata": {"name": "redhat-operators", "namespace": "openshift-marketplace"},
  "spec": {"image": "mirror.corp:5000/ourteam/redhat-operator-index:v4.18"}}`
	mirroredCommunity = `{"apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog", "metadata": {"name": "community"},
  "spec": {"source": {"image": {"ref": "mirror.example.com:5000/ocp/operatorhubio/catalog:latest"}}}}`
	mirrorSet = `{"apiVersion": "config.openshift.io/v1", "kind": "ImageDigestMirrorSet", "metadata": {"name": "idms-operator-0"},
  "spec": {"imageDigestMirrors": [{"source": "quay.io/operatorhubio", "mirrors": ["mirror.example.com:5000/ocp/operatorhubio"]},
    {"source": "quay.io", "mirrors": ["mirror.example.com:5000/ocp"]}]}}`
)

// list returns objects as oc get -o json prints them.
func list(objects ...string) string {
	return `{"apiVersion": "v1", "kind": "List", "items": [` + strings.Join(objects, ",") + `]}`
}

func read(t *testing.T, objects ...string) *installed.Cluster {
	t.Helper()
	c, err := installed.ReadCluster("cluster.json", strings.NewReader(list(objects...)))
	fail.On(t, err)
	return c
}

const header = "apiVersion: mirror.openshift.io/v2alpha1\nkind: ImageSetConfiguration\nmirror:\n"

func TestFromCluster(t *testing.T) {
	t.Parallel()
	quay := func(catalog string) string {
		return header + `  platform:
    channels:
    # Running: 4.18.3
    - name: eus-4.18
      minVersion: 4.18.3
      shortestPath: true
  operators:
` + catalog + `    packages:
    # Installed: quay-operator.v3.9.1 in registry
    - name: quay-operator
      channels:
      - name: stable-3.9
        minVersion: 3.9.1
`
	}
	argo := func(catalog string) string {
		return header + "  operators:\n" + catalog + `    packages:
    # Installed: argocd-operator.v0.8.0, version <0.9.0
    - name: argocd-operator
      minVersion: 0.8.0
`
	}
	tests := map[string]struct {
		objects []string
		options draft.Options
		want    string
	}{
		"an operator and the platform": {objects: []string{quayCSV, quaySubscription, redHatOperators, cluster418},
			want: quay("  - catalog: registry.redhat.io/redhat/redhat-operator-index:v4.18\n")},
		"the catalog of a mirror, with the tag of the platform": {objects: []string{quayCSV, quaySubscription, mirroredRedHat, cluster418, mirrorSet},
			want: quay("  # The cluster uses it as mirror.example.com:5000/ocp/redhat/redhat-operator-index@sha256:" + strings.Repeat("a", 64) + ".\n  - catalog: registry.redhat.io/redhat/redhat-operator-index:v4.18\n")},
		"the catalog of a mirror whose prefix a namespace shows": {objects: []string{quayCSV, quaySubscription, mirroredRedHat, cluster418, strings.ReplaceAll(mirrorSet, `{"source": "quay.io", "mirrors": ["mirror.example.com:5000/ocp"]}`, `{"source": "registry.redhat.io/quay", "mirrors": ["mirror.example.com:5000/ocp/quay"]}`)},
			want: quay("  # The cluster uses it as mirror.example.com:5000/ocp/redhat/redhat-operator-index@sha256:" + strings.Repeat("a", 64) + ".\n  - catalog: registry.redhat.io/redhat/redhat-operator-index:v4.18\n")},
		"a catalog of a team, by a mirror set": {objects: []string{quayCSV, quaySubscription, ourTeam, cluster418, strings.ReplaceAll(mirrorSet, `{"source": "quay.io", "mirrors": ["mirror.example.com:5000/ocp"]}`, `{"source": "quay.io/team", "mirrors": ["mirror.corp:5000/ourteam"]}`)},
			want: quay("  # The cluster uses it as mirror.corp:5000/ourteam/redhat-operator-index:v4.18.\n  - catalog: quay.io/team/redhat-operator-index:v4.18\n")},
		"a given catalog": {objects: []string{quayCSV, quaySubscription, mirroredRedHat, cluster418}, options: draft.Options{Catalogs: map[string]string{"redhat-operators": "quay.io/my/index:v1"}},
			want: quay("  - catalog: quay.io/my/index:v1\n")},
		"an operator of OLM v1": {objects: []string{extension, community, other}, want: argo("  - catalog: quay.io/operatorhubio/catalog:latest\n")},
		"the longest mirror": {objects: []string{extension, mirroredCommunity, mirrorSet},
			want: argo("  # The cluster uses it as mirror.example.com:5000/ocp/operatorhubio/catalog:latest.\n  - catalog: quay.io/operatorhubio/catalog:latest\n")},
		"pinned": {objects: []string{quayCSV, quaySubscription, redHatOperators, cluster418}, options: draft.Options{Pinned: true}, want: header + `  platform:
    channels:
    # Running: 4.18.3
    - name: eus-4.18
      minVersion: 4.18.3
      maxVersion: 4.18.3
  operators:
  - catalog: registry.redhat.io/redhat/redhat-operator-index:v4.18
    packages:
    # Installed: quay-operator.v3.9.1 in registry
    - name: quay-operator
      channels:
      - name: stable-3.9
        minVersion: 3.9.1
        maxVersion: 3.9.1
`},
		"a Subscription without its version": {objects: []string{quaySubscription, redHatOperators}, want: header + `  operators:
  - catalog: registry.redhat.io/redhat/redhat-operator-index:v4.18
    installed:
    - package: quay-operator
      bundle: quay-operator.v3.9.1
      channel: stable-3.9
    packages:
    # Installed: quay-operator.v3.9.1 in registry
    - name: quay-operator
      channels:
      - name: stable-3.9
`},
		"pinned without its version": {objects: []string{quaySubscription, redHatOperators}, options: draft.Options{Pinned: true}, want: header + `  operators:
  - catalog: registry.redhat.io/redhat/redhat-operator-index:v4.18
    packages:
    # Installed: quay-operator.v3.9.1 in registry
    - name: quay-operator
      bundles:
      - name: quay-operator.v3.9.1
`},
		"two clusters, one of several architectures": {objects: []string{cluster418, cluster418b}, want: header + `  platform:
    # The cluster uses an update service: https://osus.example.com/graph
    graph: true
    channels:
    # Running: 4.18.20
    # Running: 4.18.3
    - name: eus-4.18
      from:
      - 4.18.3
      - 4.18.20
    architectures:
    - multi
    - amd64
`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := draft.FromCluster(read(t, test.objects...), test.options)
			fail.On(t, err)
			text, err := d.Config.YAML(d.Comments)
			fail.On(t, err)
			fail.Diff(t, test.want, string(text))
			_, err = imageset.Parse("imageset.yaml", text)
			fail.On(t, err)
		})
	}
}

// TestCatalogs lists the catalogs of clusters, also if nothing of them is installed.
func TestCatalogs(t *testing.T) {
	t.Parallel()
	marketplace := strings.NewReplacer("redhat-operators", "redhat-marketplace", "redhat-operator-index", "redhat-marketplace-index").Replace(mirroredRedHat)
	d, err := draft.FromCluster(read(t, quayCSV, quaySubscription, redHatOperators, marketplace, cluster418, mirrorSet), draft.Options{})
	fail.On(t, err)
	fail.Diff(t, []string{"registry.redhat.io/redhat/redhat-marketplace-index:v4.18", "registry.redhat.io/redhat/redhat-operator-index:v4.18"}, d.Catalogs)
}

func TestFromClusterRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		objects []string
		options draft.Options
		want    string
	}{
		"no catalogs":           {objects: []string{quayCSV, quaySubscription}, want: "openshift-marketplace/redhat-operators: the input does not have it"},
		"no Subscription":       {objects: []string{quayCSV}, want: "quay-operator: its catalog is unknown"},
		"any of two catalogs":   {objects: []string{anyExtension, community, other}, want: "argocd-operator: it may be from any of quay.io/operatorhubio/catalog:latest, quay.io/other/catalog:latest"},
		"no mirror set":         {objects: []string{quaySubscription, strings.Replace(mirroredRedHat, "redhat/redhat-operator-index@", "my/index@", 1), mirrorSet}, want: "has no tag"},
		"an unused name":        {objects: []string{cluster418}, options: draft.Options{Catalogs: map[string]string{"x": "quay.io/a/b:v1"}}, want: `nothing here is called "x"`},
		"no tag and no release": {objects: []string{quaySubscription, mirroredRedHat, mirrorSet}, want: "has no tag"},
		"a catalog of a team":   {objects: []string{quaySubscription, ourTeam, cluster418}, want: "mirror.corp:5000/ourteam/redhat-operator-index:v4.18 has the name of a catalog of Red Hat, and nothing says that it is from there"},
		"a team at a mirror":    {objects: []string{quaySubscription, strings.Replace(ourTeam, "mirror.corp:5000/", "mirror.example.com:5000/", 1), cluster418, strings.ReplaceAll(mirrorSet, `{"source": "quay.io", "mirrors": ["mirror.example.com:5000/ocp"]}`, `{"source": "quay.io/a", "mirrors": ["mirror.example.com:5000/ocp/a"]}`)}, want: "has the name of a catalog of Red Hat"},
		"no proof":              {objects: []string{quaySubscription, mirroredRedHat, cluster418}, want: "has the name of a catalog of Red Hat"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := draft.FromCluster(read(t, test.objects...), test.options)
			if err == nil || !strings.Contains(err.Error(), test.want) || advice.KindOf(err) != advice.Input {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestFromMirror(t *testing.T) {
	t.Parallel()
	m := &draft.Mirror{
		Host: "mirror.example.com:5000", Graph: true, Others: []string{"tools/cli"},
		Catalogs: []draft.MirroredCatalog{{Path: "redhat/redhat-operator-index", Image: "mirror.example.com:5000/ocp/redhat/redhat-operator-index:v4.18"}},
		Releases: []string{"4.18.9-x86_64", "4.18.10-x86_64", "4.9.3-x86_64", "sha256-abc.sig"},
	}
	for pinned, limits := range map[bool][2]string{false: {"      shortestPath: true\n", "      shortestPath: true\n"}, true: {"      maxVersion: 4.9.3\n", "      maxVersion: 4.18.10\n      shortestPath: true\n"}} {
		d, err := draft.FromMirror(m, draft.Options{Pinned: pinned})
		fail.On(t, err)
		text, err := d.Config.YAML(d.Comments)
		fail.On(t, err)
		want := header + fmt.Sprintf(`  platform:
    graph: true
    channels:
    # In the mirror: 4.9.3 to 4.9.3; the channel is assumed
    - name: stable-4.9
      minVersion: 4.9.3
%s    # In the mirror: 4.18.9 to 4.18.10; the channel is assumed
    - name: stable-4.18
      minVersion: 4.18.9
%s  operators:
  # In the mirror: mirror.example.com:5000/ocp/redhat/redhat-operator-index:v4.18
  - catalog: registry.redhat.io/redhat/redhat-operator-index:v4.18
`, limits[0], limits[1])
		fail.Diff(t, want, string(text))
		if len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "tools/cli") {
			t.Errorf("notes: %q", d.Notes)
		}
	}
	m.Catalogs[0] = draft.MirroredCatalog{Path: "ourteam/redhat-operator-index", Image: "mirror.example.com:5000/ocp/ourteam/redhat-operator-index:v1"}
	if _, err := draft.FromMirror(m, draft.Options{}); err == nil || !strings.Contains(err.Error(), "has the name of a catalog of Red Hat") {
		t.Errorf("a catalog of a team: %v", err)
	}
	m.Catalogs[0] = draft.MirroredCatalog{Path: "my/index", Image: "mirror.example.com:5000/ocp/my/index:v1"}
	if _, err := draft.FromMirror(m, draft.Options{}); err == nil || !strings.Contains(err.Error(), "my/index: its image") {
		t.Errorf("an unknown source: %v", err)
	}
	d, err := draft.FromMirror(m, draft.Options{Catalogs: map[string]string{"my/index": "quay.io/org/index:v1"}})
	fail.On(t, err)
	if o := d.Config.Mirror.Operators[0]; o.Catalog != "quay.io/org/index:v1" || o.TargetCatalog != "my/index" {
		t.Errorf("a given source: %+v", o)
	}
}
