package install

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/extension"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestRefused(t *testing.T) {
	t.Parallel()
	const (
		modes     = "  - {type: OwnNamespace, supported: true}\n  - {type: SingleNamespace, supported: true}\n  - {type: MultiNamespace, supported: true}\n  - {type: AllNamespaces, supported: true}\n"
		allOff    = "  - {type: AllNamespaces, supported: false}\n"
		webhook   = "type: ValidatingAdmissionWebhook, generateName: vlamp.sea.example.com, deploymentName: lighthouse-keeper"
		leases    = "        - {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create, get, update]}\n"
		urls      = "        - {nonResourceURLs: [/healthz], verbs: [get]}\n"
		pods      = "- {apiGroups: [\"\"], resources: [pods], verbs: [get]}\n"
		metricsSM = "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n"
	)
	own, one, several := "  - {type: OwnNamespace, supported: true}\n", "  - {type: SingleNamespace, supported: true}\n", "  - {type: MultiNamespace, supported: true}\n"
	for _, tc := range []struct {
		name    string
		changes []string
		v1      V1Options
		want    string // in the error of V1; "" is no error
		classic string // in the error of Classic
	}{
		{"unknown modes only", []string{modes, allOff}, V1Options{}, "no install mode that OLM knows: it supports none", "no install mode that OLM knows"},
		{"single without a namespace", []string{modes, one}, V1Options{}, "has to be given the namespaces that it watches: it supports SingleNamespace", "has to be given"},
		{"single with its own namespace", []string{modes, one}, V1Options{InstallNamespace: "a", Namespaces: []string{"a"}}, "cannot watch its own namespace a", "cannot watch its own"},
		{"single with another namespace", []string{modes, one}, V1Options{Namespaces: []string{"b"}}, "", ""},
		{"own with another namespace", []string{modes, own}, V1Options{Namespaces: []string{"b"}}, "cannot watch the single namespace b", "cannot watch the single namespace b"},
		{"own", []string{modes, own}, V1Options{}, "", ""},
		{"several", nil, V1Options{Namespaces: []string{"a", "b"}}, "one namespace or all", ""},
		{"several of multi", []string{modes, several}, V1Options{Namespaces: []string{"a", "b"}}, "one namespace or all", ""},
		{"one of multi", []string{modes, several}, V1Options{Namespaces: []string{"b"}}, "cannot watch the single namespace b", "cannot watch the single namespace b"},
		{"several of single", []string{modes, one}, V1Options{Namespaces: []string{"a", "b"}}, "one namespace or all", "cannot watch several namespaces"},
		{"a namespace that is none", nil, V1Options{Namespaces: []string{"A"}}, `the watched namespace "A"`, `the watched namespace "A"`},
		{"an install namespace that is none", nil, V1Options{InstallNamespace: "a.b"}, `the namespace "a.b"`, `the namespace "a.b"`},
		{"an account without effect", nil, V1Options{ServiceAccount: "installer", Controller: Controller{1, 11}}, "Options.ServiceAccount has no effect: operator-controller 1.11 installs with its own rights", ""},
		{"an account that is none", nil, V1Options{ServiceAccount: "a b"}, `the ServiceAccount "a b"`, ""},
		{"invalid template", []string{`'{"kind"`, `'{"kind`}, V1Options{}, "suggested-namespace-template", "suggested-namespace-template"},
		{"webhook of no deployment", []string{webhook, strings.Replace(webhook, "keeper", "gone", 1)}, V1Options{}, "needs a deployment lighthouse-gone", ""},
		{"unknown webhook", []string{webhook, strings.Replace(webhook, "Validating", "Guessing", 1)}, V1Options{}, `unknown type "GuessingAdmissionWebhook"`, ""},
		{"conversion in several modes", []string{webhook, strings.Replace(webhook, "ValidatingAdmission", "Conversion", 1)}, V1Options{}, "has a conversion webhook (vlamp.sea.example.com)", ""},
		{"conversion in all namespaces", []string{webhook, strings.Replace(webhook, "ValidatingAdmission", "Conversion", 1), modes, strings.Replace(allOff, "false", "true", 1)}, V1Options{}, "", ""},
		{"URLs in a namespace", []string{leases, urls}, V1Options{Namespaces: []string{"sea"}}, "permissions for the URL /healthz in namespace sea", ""},
		{"URLs in all namespaces", []string{leases, urls}, V1Options{}, "", ""},
		{"URLs in a Role", []string{pods, "- {nonResourceURLs: [/healthz], verbs: [get]}\n"}, V1Options{}, "permissions for the URL /healthz in namespace lighthouse-lamps", ""},
		{"an empty name", []string{leases, strings.Replace(leases, "leases]", "leases], resourceNames: ['']", 1)}, V1Options{}, "permissions for leases with an empty name", ""},
		{"two deployments with a name", []string{"- name: lighthouse.horn", "- name: lighthouse-keeper"}, V1Options{}, "deployments need different names", ""},
		{"a kind that OLM does not install", []string{metricsSM, "apiVersion: batch/v1\nkind: Job\n"}, V1Options{}, "has a Job (lighthouse), a kind that OLM does not install", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := lighthouse(t, tc.changes...)
			check := func(err error, want string) {
				if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || advice.KindOf(err) != advice.Input) {
					t.Errorf("got error %v, want %q", err, want)
				}
			}
			_, err := V1(b, tc.v1)
			check(err, tc.want)
			_, err = Classic(b, ClassicOptions{InstallNamespace: tc.v1.InstallNamespace, Namespaces: tc.v1.Namespaces, CatalogSource: "a/b"})
			check(err, tc.classic)
		})
	}
}

// What the catalog says of a bundle decides, too.
func TestRefusedByProperties(t *testing.T) {
	t.Parallel()
	b := lighthouse(t)
	b.refusals = extension.Refusals(&catalog.Bundle{Image: "quay.io/x/y:v1", Properties: []catalog.Property{{Type: "olm.package.required", Value: json.RawMessage(`{"packageName":"sea","versionRange":">0.0.0"}`)}}})
	if _, err := V1(b, V1Options{}); err == nil || !strings.Contains(err.Error(), "declares a dependency (olm.package.required)") || advice.Hint(err) != "install it with OLM classic, or mirror another version" {
		t.Errorf("a bundle with a dependency: got error %v", err)
	}
	if _, err := Classic(b, ClassicOptions{CatalogSource: "a/b"}); err != nil {
		t.Errorf("a bundle with a dependency, in OLM classic: %v", err)
	}
	b = lighthouse(t)
	b.Version = "1.2.3+" + strings.Repeat("b", 60)
	if _, err := V1(b, V1Options{}); err == nil || !strings.Contains(err.Error(), "its version has 66 characters") {
		t.Errorf("a long version: got error %v", err)
	}
	// A channel that the CRD refuses is left out.
	r, err := V1(lighthouse(t), V1Options{Channel: "original_40", ClusterCatalog: "cc"})
	fail.On(t, err)
	text, err := YAML(r.Objects)
	fail.On(t, err)
	if strings.Contains(string(text), "channels:") || !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, `"original_40" is not allowed`) }) {
		t.Errorf("notes %q for\n%s", r.Notes, text)
	}
}

// TestFaulty has a bundle for each validation of OLM v1 (operator-controller,
// rukpak/render/registryv1/validators).
func TestFaulty(t *testing.T) {
	t.Parallel()
	const (
		modes   = "  - {type: OwnNamespace, supported: true}\n  - {type: SingleNamespace, supported: true}\n  - {type: MultiNamespace, supported: true}\n"
		hook    = "{type: ValidatingAdmissionWebhook, generateName: vlamp.sea.example.com, deploymentName: lighthouse-keeper}"
		spec    = "  version: 1.2.3\n"
		owns    = spec + "  customresourcedefinitions: {owned: [{name: lamps.sea.example.com}]}\n"
		convert = "{type: ConversionWebhook, generateName: clamp, deploymentName: lighthouse-keeper, conversionCRDs: [lamps.sea.example.com]}"
		plural  = "  names: {kind: Lamp, plural: lamps}\n"
	)
	with := func(rules string) []string {
		return []string{hook, strings.TrimSuffix(hook, "}") + ", rules: [" + rules + "]}"}
	}
	for _, tc := range []struct {
		name    string
		changes []string
		want    string // in the error; "" is no error
	}{
		{"owned", []string{spec, owns}, ""},
		{"owned and missing", []string{spec, strings.Replace(owns, "lamps", "buoys", 1)}, "owns the CustomResourceDefinition buoys.sea.example.com"},
		{"twice", []string{"{name: horns.sea.example.com}", "{name: lamps.sea.example.com}"}, "CustomResourceDefinition lamps.sea.example.com twice"},
		{"webhook twice", []string{hook, hook + "\n  - " + hook}, "webhook vlamp.sea.example.com of type ValidatingAdmissionWebhook twice"},
		{"webhook name", []string{"vlamp.sea.example.com", "Bad_Name"}, `webhook "Bad_Name" cannot be a name`},
		{"webhook for a group", with("{apiGroups: [apps], resources: ['*']}"), ""},
		{"webhook for all groups", with("{apiGroups: [apps, '*'], resources: [pods]}"), `a rule for the API group "*"`},
		{"webhook for OLM", with("{apiGroups: [olm.operatorframework.io], resources: [a]}"), `API group "olm.operatorframework.io"`},
		{"webhook for webhooks", with("{apiGroups: [admissionregistration.k8s.io], resources: [ValidatingWebhookConfigurations]}"), "a rule for ValidatingWebhookConfigurations"},
		{"webhook for policies", with("{apiGroups: [admissionregistration.k8s.io], resources: [validatingadmissionpolicies]}"), ""},
		{"conversion", []string{modes, "", spec, owns, hook, convert}, ""},
		{"conversion of others", []string{modes, "", hook, convert}, "converts the CustomResourceDefinition lamps.sea.example.com, which it does not own"},
		{"two conversions", []string{modes, "", spec, owns, hook, convert + "\n  - " + strings.Replace(convert, "clamp", "other", 1)}, "several conversion webhooks (clamp and other)"},
		{"conversion with unknown fields", []string{modes, "", spec, owns, hook, convert, plural, plural + "  preserveUnknownFields: true\n"}, "which preserves unknown fields"},
	} {
		_, err := V1(lighthouse(t, tc.changes...), V1Options{})
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || advice.KindOf(err) != advice.Input) {
			t.Errorf("%s: got error %v, want %q", tc.name, err, tc.want)
		}
	}
}

func TestClassicRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		options ClassicOptions
		want    string
	}{
		{ClassicOptions{Proxy: Proxy{HTTP: "http://user:secret@proxy:1"}}, "Options.HTTPProxy has a user or password"},
		{ClassicOptions{Proxy: Proxy{HTTPS: "proxy:1"}}, "Options.HTTPSProxy is not the address of a proxy"},
		{ClassicOptions{InstallNamespace: "openshift-operators", Namespaces: []string{"sea"}}, "operators in namespace openshift-operators watch all namespaces"},
	} {
		tc.options.CatalogSource = "a/b"
		_, err := Classic(lighthouse(t), tc.options)
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("got error %v, want %q", err, tc.want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	const csv = "kind: ClusterServiceVersion\n"
	for _, tc := range []struct {
		old, new, want string
	}{
		{csv, "kind: ConfigMap\n", "no ClusterServiceVersion"},
		{"kind: Service\n", csv, "several ClusterServiceVersions"},
		{"permissions:\n", "permissions: {}\n      more:\n", "reading manifest 1"},
		{"metadata: {name: lamps.sea.example.com}", "metadata: {name: [lamps]}", "reading property 1"},
	} {
		if _, err := readFile(t, "lighthouse", "lighthouse.yaml", tc.old, tc.new); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: got error %v, want %q", tc.new, err, tc.want)
		}
	}
	if _, err := Read(&catalog.Bundle{Name: "x"}); !errors.Is(err, ErrNoManifests) {
		t.Errorf("a bundle without manifests: got error %v", err)
	}
}
