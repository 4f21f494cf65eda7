package upgrade_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// checkOne checks one operator p.v1.0.0 against a catalog.
func checkOne(t *testing.T, o installed.Operator, k *catalog.Catalog, options upgrade.Options) upgrade.Report {
	t.Helper()
	o.Package, o.Bundle, o.Version, o.Namespace, o.Channels = "p", "p.v1.0.0", "1.0.0", "zoo", []string{"stable"}
	r := checked(t, []installed.Operator{o}, []upgrade.Catalog{{Name: "c", Kept: k}}, options)
	return r
}

// blocksOf returns the blocks of the hops of the first path, as KIND or ?KIND.
func blocksOf(r upgrade.Report) string {
	var all []string
	for _, h := range r.Operators[0].Paths[0].Hops {
		for _, b := range h.Blocks {
			word := string(b.Kind)
			if b.Possible {
				word = "?" + word
			}
			all = append(all, h.To+" "+word)
		}
	}
	return strings.Join(all, ", ")
}

func TestConditions(t *testing.T) {
	t.Parallel()
	k := content(t, "stable: p.v1.0.0 p.v1.1.0<p.v1.0.0 p.v1.2.0<p.v1.1.0", "p.v1.1.0="+csv(`{"installModes":[{"type":"AllNamespaces","supported":true}]}`), "p.v1.2.0="+csv(`{"installModes":[{"type":"AllNamespaces","supported":true}]}`))
	held := func(kind, namespace, name string) installed.Condition {
		return installed.Condition{Kind: kind, Namespace: namespace, Name: name, Reason: "Migrating: wait", Origin: "f: " + kind}
	}
	own := held("OperatorCondition", "zoo", "p.v1.0.0")
	for _, tc := range []struct {
		name       string
		generation graph.Generation
		condition  installed.Condition
		blocks     string
		platform   int
	}{
		{"its own", graph.Classic, own, "p.v1.1.0 not-upgradeable", 0},
		{"OLM v1 does not read it", graph.V1, own, "", 0},
		{"another namespace", graph.Classic, held("OperatorCondition", "a", "p.v1.0.0"), "", 0},
		{"another version", graph.Classic, held("OperatorCondition", "zoo", "p.v0.9.0"), "", 0},
		{"a component", graph.Classic, held("ClusterOperator", "", "network"), "", 1},
		{"the cluster", graph.V1, held("ClusterVersion", "", "version"), "", 1},
	} {
		r := checkOne(t, installed.Operator{Generation: tc.generation}, k, upgrade.Options{Conditions: []installed.Condition{tc.condition}})
		for _, b := range r.Platform {
			if !strings.Contains(b.Message, "; resolve what it reports before that update: oc get ") {
				t.Errorf("%s: there is no remedy in %q", tc.name, b.Message)
			}
		}
		if got := blocksOf(r); got != tc.blocks || len(r.Platform) != tc.platform {
			t.Errorf("%s: got %q and %v, want %q and %d", tc.name, got, r.Platform, tc.blocks, tc.platform)
		}
	}
	// At the head there is no update to hold.
	head := content(t, "stable: p.v1.0.0")
	r := checkOne(t, installed.Operator{Generation: graph.Classic}, head, upgrade.Options{Conditions: []installed.Condition{own}})
	if got := strings.Join(r.Operators[0].Notes, "\n"); !strings.Contains(got, "Upgradeable is False (Migrating: wait); resolve what it reports, or override it in spec.overrides of OperatorCondition") {
		t.Errorf("at the head: the notes are %q", got)
	}
}

func TestMissingAPIs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		api, cluster string
		generation   graph.Generation
		want         string
	}{
		{`{"group":"policy","version":"v1beta1","kind":"PodDisruptionBudget"}`, "4.12", graph.Classic, "p.v1.1.0 missing-api"}, // Kubernetes 1.25
		{`{"group":"policy","version":"v1beta1","kind":"PodDisruptionBudget"}`, "4.12", graph.V1, "p.v1.1.0 ?missing-api"},
		{`{"group":"policy","version":"v1beta1","kind":"PodDisruptionBudget"}`, "4.11", graph.Classic, ""},
		{`{"group":"policy","version":"v1beta1","kind":"PodDisruptionBudget"}`, "", graph.Classic, ""},
		{`{"group":"policy","version":"v1","kind":"PodDisruptionBudget"}`, "4.20", graph.Classic, ""},
		{`{"group":"storage.k8s.io","version":"v1beta1","kind":"CSIDriver"}`, "4.9", graph.Classic, "p.v1.1.0 missing-api"},
		{`{"group":"storage.k8s.io","version":"v1beta1","kind":"CSIStorageCapacity"}`, "4.13", graph.Classic, ""},
		{`{"group":"storage.k8s.io","version":"v1beta1","kind":"CSIStorageCapacity"}`, "4.14", graph.Classic, "p.v1.1.0 missing-api"},
		// Kubernetes 1.33 serves other kinds of versions that 1.22 removed.
		{`{"group":"coordination.k8s.io","version":"v1beta1","kind":"Lease"}`, "4.9", graph.Classic, "p.v1.1.0 missing-api"},
		{`{"group":"coordination.k8s.io","version":"v1beta1","kind":"LeaseCandidate"}`, "4.20", graph.Classic, ""},
		{`{"group":"certificates.k8s.io","version":"v1beta1","kind":"ClusterTrustBundle"}`, "4.20", graph.Classic, ""},
		{`{"group":"extensions","version":"v1beta1","kind":"Ingress"}`, "4.8", graph.Classic, ""},
		{`{"group":"extensions","version":"v1beta1","kind":"Deployment"}`, "4.8", graph.Classic, "p.v1.1.0 missing-api"},
		{`{"group":"flowcontrol.apiserver.k8s.io","version":"v1beta3","kind":"FlowSchema"}`, "4.18", graph.Classic, ""},
		{`{"group":"flowcontrol.apiserver.k8s.io","version":"v1beta3","kind":"FlowSchema"}`, "4.19", graph.Classic, "p.v1.1.0 missing-api"},
	} {
		k := content(t, "stable: p.v1.0.0 p.v1.1.0<p.v1.0.0", "p.v1.1.0="+csv(`{"nativeAPIs":[`+tc.api+`],"installModes":[{"type":"AllNamespaces","supported":true}]}`))
		fail.Diff(t, tc.want, blocksOf(checkOne(t, installed.Operator{Generation: tc.generation}, k, upgrade.Options{ClusterVersion: tc.cluster})))
	}
}

func TestUnnamedImages(t *testing.T) {
	t.Parallel()
	digest := "@sha256:" + strings.Repeat("a", 64)
	images := []string{"example.com/p:v0", "quay.io/x/kept:v9" + digest, "quay.io/x/old" + digest, "quay.io/x/tagged:v1", "quay.io/x/tagged:v2"}
	kept := func(entries string) *catalog.Catalog {
		r := catalog.NewReader(catalog.Options{})
		text := `{"schema":"olm.package","name":"p","defaultChannel":"stable"}{"schema":"olm.channel","package":"p","name":"stable","entries":[` + entries + `]}`
		for _, v := range []string{"1.0.0", "1.1.0"} {
			if strings.Contains(entries, `"name":"p.v`+v) {
				text += fmt.Sprintf(`{"schema":"olm.bundle","package":"p","name":"p.v%s","image":"example.com/p:v0","properties":[{"type":"olm.package","value":{"packageName":"p","version":%q}}],`+
					`"relatedImages":[{"image":"quay.io/x/kept%s"},{"image":"quay.io/x/tagged:v2"}]}`, v, v, digest)
			}
		}
		fail.On(t, r.File("c.json", strings.NewReader(text)))
		c, err := r.Catalog()
		fail.On(t, err)
		return c
	}
	for entries, want := range map[string][]string{
		`{"name":"p.v1.1.0","replaces":"p.v1.0.0"}`:                     {"quay.io/x/old" + digest, "quay.io/x/tagged:v1"},
		`{"name":"p.v1.0.0"},{"name":"p.v1.1.0","replaces":"p.v1.0.0"}`: nil,
	} {
		r := checkOne(t, installed.Operator{Generation: graph.Classic, Images: images}, kept(entries), upgrade.Options{})
		if diff := cmp.Diff(want, r.Operators[0].Unnamed); diff != "" {
			t.Errorf("%s (-want +got):\n%s", entries, diff)
		}
	}
}

func TestConflicts(t *testing.T) {
	t.Parallel()
	one := content(t, "stable: p.v1.0.0", "p.v1.0.0="+gvk("v1", "A")+","+gvk("v1", "B"))
	again := content(t, "stable: p.v1.0.0", "p.v1.0.0="+gvk("v1", "A"))
	other := content(t, "stable: p.v1.0.0", "p.v1.0.0="+gvk("v2", "A"))
	other.Packages[0].Name = "q"
	r := checked(t, nil, []upgrade.Catalog{{Name: "a", Kept: one}, {Name: "b", Kept: again}, {Name: "c", Kept: other}}, upgrade.Options{})
	fail.Diff(t, []upgrade.Conflict{{Group: "x.io", Kind: "A", Packages: []string{"p", "q"}}}, r.Conflicts)
}
