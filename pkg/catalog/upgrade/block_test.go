package upgrade_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

func gvk(version, kind string) string {
	return fmt.Sprintf(`{"type":"olm.gvk","value":{"group":"x.io","version":%q,"kind":%q}}`, version, kind)
}

func maxOpenShift(value string) string {
	return fmt.Sprintf(`{"type":"olm.maxOpenShiftVersion","value":%s}`, value)
}

func csv(text string) string { return `{"type":"olm.csv.metadata","value":` + text + `}` }

func crd(apiVersion, kind string, versions ...string) string {
	var list []string
	for _, v := range versions {
		name, storage := strings.CutSuffix(v, "!")
		list = append(list, fmt.Sprintf(`{"name":%q,"storage":%t}`, name, storage))
	}
	text := fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/%s","kind":"CustomResourceDefinition","metadata":{"name":"%ss.x.io"},"spec":{"group":"x.io","names":{"kind":%q},"versions":[%s]}}`,
		apiVersion, strings.ToLower(kind), kind, strings.Join(list, ","))
	return fmt.Sprintf(`{"type":"olm.bundle.object","value":{"data":%q}}`, base64.StdEncoding.EncodeToString([]byte(text)))
}

// schema returns a CRD of kind A with versions, each as "NAME FIELD ...", where a field that ends
// in "!" is required in spec; "webhook" converts between them.
func schema(words ...string) string {
	var list []string
	strategy := "None"
	for _, v := range words {
		if v == "webhook" {
			strategy = "Webhook"
			continue
		}
		name, fields, _ := strings.Cut(v, " ")
		var has, must []string
		for f := range strings.FieldsSeq(fields) {
			f, required := strings.CutSuffix(f, "!")
			if has = append(has, fmt.Sprintf("%q:{}", f)); required {
				must = append(must, fmt.Sprintf("%q", f))
			}
		}
		list = append(list, fmt.Sprintf(`{"name":%q,"served":%t,"storage":true,"schema":{"openAPIV3Schema":{"properties":{"spec":{"required":[%s],"properties":{%s}}}}}}`,
			strings.TrimPrefix(name, "-"), name[0] != '-', strings.Join(must, ","), strings.Join(has, ",")))
	}
	text := fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"as.x.io"},"spec":{"group":"x.io","names":{"kind":"A"},"conversion":{"strategy":%q},"versions":[%s]}}`,
		strategy, strings.Join(list, ","))
	return fmt.Sprintf(`{"type":"olm.bundle.object","value":{"data":%q}}`, base64.StdEncoding.EncodeToString([]byte(text)))
}

const modes = `"installModes":[{"type":"AllNamespaces","supported":true}]`

func TestBlocks(t *testing.T) {
	t.Parallel()
	const hop = "stable: p.v1.0.0 p.v2.0.0<p.v1.0.0"
	bundles := func(from, to string) []string {
		lines := []string{hop}
		if from != "" {
			lines = append(lines, "p.v1.0.0="+from)
		}
		if to != "" {
			lines = append(lines, "p.v2.0.0="+to)
		}
		return lines
	}
	v1Operator := v1("1.0.0")
	known := classic("1.0.0", "stable")
	known.MaxOpenShift = "4.18"
	known.APIs = []installed.API{{Group: "x.io", Version: "v1alpha1", Kind: "A"}}
	tests := map[string]struct {
		operator installed.Operator
		lines    []string
		version  string
		want     []string
	}{
		"nothing": {classic("1.0.0", "stable"), bundles(gvk("v1", "A"), gvk("v1", "A")+","+csv(`{"minKubeVersion":"1.32.0"}`)), "4.19", nil},
		"the installed bundle limits the cluster": {classic("1.0.0", "stable"), bundles(maxOpenShift(`"4.18"`), ""), "4.19.3", []string{
			"max-openshift possible=false: make this update before the cluster is updated to 4.19: while p.v1.0.0 is installed, the cluster cannot be updated beyond 4.18 (olm.maxOpenShiftVersion)",
		}},
		"the installed bundle does not limit the cluster": {classic("1.0.0", "stable"), bundles(maxOpenShift("4.19"), maxOpenShift(`"4.20"`)), "4.19.99", nil},
		"the head limits the cluster": {classic("1.0.0", "stable"), bundles("", maxOpenShift("4.9")), "4.10", []string{
			"end max-openshift possible=false: while p.v2.0.0 is installed, the cluster cannot be updated to 4.10, only to 4.9 (olm.maxOpenShiftVersion), and the mirror has no later bundle that allows it",
		}},
		"Kubernetes too old": {classic("1.0.0", "stable"), bundles("", csv(`{"minKubeVersion":"1.33.0"}`)), "4.19", []string{
			"min-kube possible=false: p.v2.0.0 needs Kubernetes 1.33.0 (minKubeVersion), and OpenShift 4.19 has 1.32; update the cluster first",
		}},
		"Kubernetes too old by a patch": {classic("1.0.0", "stable"), bundles("", csv(`{"minKubeVersion":"1.32.5"}`)), "4.19", []string{
			"min-kube possible=true: p.v2.0.0 needs Kubernetes 1.32.5 (minKubeVersion), and OpenShift 4.19 has 1.32; update the cluster first",
		}},
		"Kubernetes too old, OLM v1": {v1Operator, bundles("", csv(`{"minKubeVersion":"1.33.0",`+modes+`}`)), "4.19", []string{
			"min-kube possible=true: p.v2.0.0 needs Kubernetes 1.33.0 (minKubeVersion), and OpenShift 4.19 has 1.32; OLM v1 does not check this, but the operator may not run; update the cluster first",
		}},
		"unknown cluster version": {classic("1.0.0", "stable"), bundles(maxOpenShift(`"4.1"`), csv(`{"minKubeVersion":"1.99.0"}`)+","+crd("v1beta1", "A", "v1!")), "", nil},
		"a removed version": {classic("1.0.0", "stable"), bundles(gvk("v1", "A")+","+gvk("v1beta1", "A")+","+gvk("v1", "B"), gvk("v1", "A")), "", []string{
			"stored-version possible=true: p.v2.0.0 no longer has version v1beta1 of A (x.io); OLM refuses the update if status.storedVersions of the CustomResourceDefinition lists it",
		}},
		"a removed storage version": {classic("1.0.0", "stable"), bundles(gvk("v1beta1", "A")+","+crd("v1", "A", "v1alpha1", "v1beta1!"), crd("v1", "A", "v1!")+","+gvk("v1", "A")), "", []string{
			"stored-version possible=false: p.v1.0.0 stores A (x.io) as v1beta1, which p.v2.0.0 no longer has; OLM refuses the update until the objects are migrated and status.storedVersions is cleared",
			"stored-version possible=true: p.v2.0.0 no longer has version v1alpha1 of A (x.io); OLM refuses the update if status.storedVersions of the CustomResourceDefinition lists it",
		}},
		"old CRDs": {classic("1.0.0", "stable"), bundles("", crd("v1beta1", "A", "v1!")), "4.9", []string{
			"old-crd possible=false: p.v2.0.0 has the CustomResourceDefinition as.x.io as v1beta1, which OpenShift 4.9 and later do not install",
		}},
		"old CRDs on an old cluster": {classic("1.0.0", "stable"), bundles("", crd("v1beta1", "A", "v1!")), "4.8", nil},
		"a required field": {classic("1.0.0", "stable"), bundles(schema("v1 a b!"), schema("v1 a! b! c!")), "", []string{
			"new-field possible=true: p.v2.0.0 requires spec.a and spec.c in A v1 (x.io), which p.v1.0.0 does not require in v1; OLM refuses the update while there are objects without the required fields",
		}},
		"many required fields": {classic("1.0.0", "stable"), bundles(schema("v1 a"), schema("v1 a! b! c! d! e!")), "", []string{
			"new-field possible=true: p.v2.0.0 requires spec.a, spec.b, spec.c and 2 more fields in A v1 (x.io), which p.v1.0.0 does not require in v1; OLM refuses the update while there are objects without the required fields",
		}},
		"a required field, OLM v1": {v1Operator, bundles(schema("v1 a"), csv(`{`+modes+`}`)+","+schema("v1 a!")), "", []string{
			"new-field possible=true: p.v2.0.0 requires spec.a in A v1 (x.io), which p.v1.0.0 does not require in v1; OLM v1 refuses the update unless crdUpgradeSafety of the ClusterExtension is off",
		}},
		"a required field of a new version": {classic("1.0.0", "stable"), bundles(schema("v1 a"), schema("v1 a", "v2 a!")), "", []string{
			"new-field possible=true: p.v2.0.0 requires spec.a in A v2 (x.io), which p.v1.0.0 does not require in v1; OLM refuses the update while there are objects without the required fields",
		}},
		"a new version with conversion": {classic("1.0.0", "stable"), bundles(schema("v1 a"), schema("webhook", "v1 a", "v2 a!")), "", nil},
		"a version that is not served":  {classic("1.0.0", "stable"), bundles(schema("-v1 a"), schema("v1 a!")), "", nil},
		"OLM v1 refuses": {v1Operator, bundles("", csv(`{}`)+`,{"type":"olm.constraint","value":{}}`), "", []string{
			"refused possible=false: p.v2.0.0 declares a dependency (olm.constraint), which OLM v1 does not support",
			"refused possible=false: p.v2.0.0 does not support the install mode AllNamespaces (it declares none); OLM v1 refuses it",
		}},
		"facts from the cluster of a missing bundle": {known, []string{"stable: p.v2.0.0<p.v1.0.0", "p.v2.0.0=" + gvk("v1", "A")}, "4.19", []string{
			"max-openshift possible=false: make this update before the cluster is updated to 4.19: while p.v1.0.0 is installed, the cluster cannot be updated beyond 4.18 (olm.maxOpenShiftVersion)",
			"stored-version possible=true: p.v2.0.0 no longer has version v1alpha1 of A (x.io); OLM refuses the update if status.storedVersions of the CustomResourceDefinition lists it",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := content(t, test.lines...)
			r := checked(t, []installed.Operator{test.operator}, []upgrade.Catalog{{Name: "c", Kept: c}}, upgrade.Options{ClusterVersion: test.version})
			var got []string
			for line := range strings.SplitSeq(format(r.Operators[0]), "\n") {
				if strings.Contains(line, " possible=") {
					got = append(got, strings.TrimSpace(line))
				}
			}
			fail.Diff(t, test.want, got)
		})
	}
}
