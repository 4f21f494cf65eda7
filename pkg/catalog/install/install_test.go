package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/extension"
	"github.com/gantry-mirror/gantry/pkg/rbac"
)

// readFile reads the manifests of a file below testdata, changed by pairs of old and new text, as a bundle
// of the package.
func readFile(t *testing.T, pkg, file string, changes ...string) (*Bundle, error) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(changes); i += 2 {
		if !bytes.Contains(text, []byte(changes[i])) {
			t.Fatalf("%s does not contain %q", file, changes[i])
		}
		text = bytes.Replace(text, []byte(changes[i]), []byte(changes[i+1]), 1)
	}
	b := &catalog.Bundle{Package: pkg, Name: pkg + ".v1.2.3", Image: "quay.io/x/y:v1", Version: semver.MustParse("1.2.3")}
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var o map[string]any
		if err := d.Decode(&o); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		manifest, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		value, err := json.Marshal(map[string][]byte{"data": manifest})
		if err != nil {
			t.Fatal(err)
		}
		b.Properties = append(b.Properties, catalog.Property{Type: "olm.bundle.object", Value: value})
	}
	return Read(b)
}

func lighthouse(t *testing.T, changes ...string) *Bundle {
	t.Helper()
	b, err := readFile(t, "lighthouse", "lighthouse.yaml", changes...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The names of the roles of argocd-operator v0.6.0 are known from a cluster:
// https://github.com/operator-framework/operator-controller/blob/v1.3.0/docs/howto/derive-service-account.md
// and test/regression/convert/testdata there.
func TestNamesOfRoles(t *testing.T) {
	t.Parallel()
	const (
		cluster  = "argocd-operator.v0-1dhiybrldl1gyksid1dk2dqjsc72psdybc7iyvse5gpx"
		own      = "argocd-operator.v0-22gmilmgp91wu25is5i2ec598hni8owq3l71bbkl7iz3"
		promoted = "argocd-operator.v0.-3gkm3u8zfarktdile5wekso69zs9bgzb988mhjm0y6p"
	)
	b, err := readFile(t, "argocd-operator", "argocd-permissions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		watched string
		want    []thing
	}{
		{"", []thing{
			{rbac.APIGroup, "clusterroles", "", cluster}, {rbac.APIGroup, "clusterrolebindings", "", cluster},
			{rbac.APIGroup, "clusterroles", "", promoted}, {rbac.APIGroup, "clusterrolebindings", "", promoted},
		}},
		{"argocd", []thing{
			{rbac.APIGroup, "roles", "argocd", own}, {rbac.APIGroup, "rolebindings", "argocd", own},
			{rbac.APIGroup, "clusterroles", "", cluster}, {rbac.APIGroup, "clusterrolebindings", "", cluster},
		}},
	} {
		r, err := b.rendered("argocd", []string{tc.watched}, false)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.DeleteFunc(r.things, func(t thing) bool { return t.group != rbac.APIGroup })
		if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(thing{})); diff != "" {
			t.Errorf("watching %q: %s", tc.watched, diff)
		}
	}
}

func TestRendered(t *testing.T) {
	t.Parallel()
	r, err := lighthouse(t).rendered("ns", []string{""}, true)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, t := range r.things {
		if t.group != rbac.APIGroup || !strings.Contains(t.name, "lighthouse.v1.2.3-") {
			got = append(got, strings.Join([]string{t.group, t.resource, t.namespace, t.name}, " "))
		}
	}
	want := []string{
		" serviceaccounts ns lighthouse-keeper",
		"apiextensions.k8s.io customresourcedefinitions  lamps.sea.example.com",
		"apiextensions.k8s.io customresourcedefinitions  horns.sea.example.com",
		"apps deployments ns lighthouse-keeper",
		"apps deployments ns lighthouse.horn",
		"admissionregistration.k8s.io validatingwebhookconfigurations  vlamp.sea.example.com",
		" services ns lighthouse-keeper-service",
		"cert-manager.io certificates ns lighthouse-keeper-service-cert",
		"cert-manager.io issuers ns lighthouse-keeper-service-cert-selfsigned-issuer",
		"admissionregistration.k8s.io mutatingwebhookconfigurations  mlamp.sea.example.com",
		" services ns lighthouse-horn-service",
		"cert-manager.io certificates ns lighthouse-horn-service-cert",
		"cert-manager.io issuers ns lighthouse-horn-service-cert-selfsigned-issuer",
		" services ns lighthouse-metrics",
		"monitoring.coreos.com servicemonitors ns lighthouse",
		"rbac.authorization.k8s.io clusterroles  lighthouse-metrics-reader",
		"rbac.authorization.k8s.io roles ns lighthouse-scraper",
		"rbac.authorization.k8s.io rolebindings ns lighthouse-scraper",
		"rbac.authorization.k8s.io clusterrolebindings  lighthouse-delegator",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]thing{{rbac.APIGroup, "clusterroles", "", "system:auth-delegator"}}, r.bound, cmp.AllowUnexported(thing{})); diff != "" {
		t.Error(diff)
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	v1 := func(o V1Options) func(*Bundle) (*Result, error) {
		o.Channel, o.ClusterCatalog = "stable", "cc-index-v4-20"
		return func(b *Bundle) (*Result, error) { return V1(b, o) }
	}
	classic := func(o ClassicOptions) func(*Bundle) (*Result, error) {
		o.Channel, o.CatalogSource = "stable", "openshift-marketplace/cs-index-v4-20"
		return func(b *Bundle) (*Result, error) { return Classic(b, o) }
	}
	for name, install := range map[string]func(*Bundle) (*Result, error){
		"v1":      v1(V1Options{}),
		"v1-own":  v1(V1Options{InstallNamespace: "lamps", Namespaces: []string{"lamps"}, ServiceAccount: "installer", CertManager: true}),
		"v1-one":  v1(V1Options{InstallNamespace: "lamps", Namespaces: []string{"sea"}}),
		"classic": classic(ClassicOptions{}),
		"classic-several": classic(ClassicOptions{
			InstallNamespace: "lamps", Namespaces: []string{"sea", "lamps", "sea"}, Manual: true, TrustedCA: true,
			Proxy: Proxy{HTTP: "http://proxy.example.com:3128", HTTPS: "http://proxy.example.com:3128", No: ".cluster.local,10.0.0.0/8"},
		}),
		"classic-global": classic(ClassicOptions{InstallNamespace: "openshift-operators", TrustedCA: true}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := install(lighthouse(t))
			if err != nil {
				t.Fatal(err)
			}
			text, err := YAML(r.Objects)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			for _, note := range r.Notes {
				fmt.Fprintf(&got, "# note: %s\n", note)
			}
			got.Write(text)
			file := filepath.Join("testdata", name+".golden.yaml")
			if os.Getenv("GANTRY_TEST_UPDATE_GOLDEN") != "" {
				if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Kinds that OLM installs since 2025 are rendered, with a note for older ones.
func TestNewKinds(t *testing.T) {
	t.Parallel()
	const service, monitor = "apiVersion: v1\nkind: Service\n", "kind: ServiceMonitor\n"
	b := lighthouse(t, service, "apiVersion: console.openshift.io/v1\nkind: ConsolePlugin\n", monitor, "kind: PodMonitor\n")
	rendered, err := b.rendered("ns", []string{""}, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []thing{{"console.openshift.io", "consoleplugins", "", "lighthouse-metrics"}, {"monitoring.coreos.com", "podmonitors", "ns", "lighthouse"}} {
		if !slices.Contains(rendered.things, want) {
			t.Errorf("%v is not rendered", want)
		}
	}
	v1, err := V1(b, V1Options{})
	if err != nil {
		t.Fatal(err)
	}
	classic, err := Classic(b, ClassicOptions{CatalogSource: "a/b"})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Result{v1, classic} {
		all := strings.Join(r.Notes, "\n")
		for _, want := range []string{"ConsolePlugin (lighthouse-metrics): OLM from before April 2025", "PodMonitor (lighthouse): OLM from before September 2025"} {
			if !strings.Contains(all, want) {
				t.Errorf("no note has %q: %s", want, all)
			}
		}
	}
}

// Files can be applied in the order of their names, and have what the documents have.
func TestFiles(t *testing.T) {
	t.Parallel()
	r, err := V1(lighthouse(t), V1Options{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := Files(r.Objects)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	var all [][]byte
	for _, f := range files {
		names = append(names, f.Name)
		all = append(all, f.Text)
	}
	want := []string{
		"00-namespace-lighthouse-lamps.yaml", "01-serviceaccount-lighthouse-lamps-lighthouse-installer.yaml",
		"02-clusterrole-lighthouse-installer.yaml", "03-clusterrolebinding-lighthouse-installer.yaml",
		"04-role-lighthouse-lamps-lighthouse-installer.yaml", "05-rolebinding-lighthouse-lamps-lighthouse-installer.yaml",
		"06-clusterrole-lighthouse-api-view.yaml", "07-clusterrole-lighthouse-api-edit.yaml", "08-clusterrole-lighthouse-api-admin.yaml",
		"09-clusterextension-lighthouse.yaml",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	text, err := YAML(r.Objects)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), string(bytes.Join(all, []byte("---\n")))); diff != "" {
		t.Error(diff)
	}
}

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
	if err != nil {
		t.Fatal(err)
	}
	text, err := YAML(r.Objects)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "channels:") || !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, `"original_40" is not allowed`) }) {
		t.Errorf("notes %q for\n%s", r.Notes, text)
	}
}

// Two operators in a namespace have one OperatorGroup, since OLM installs nothing in a namespace with two.
func TestOperatorGroupIsShared(t *testing.T) {
	t.Parallel()
	var groups []Object
	for _, pkg := range []string{"lighthouse", "foghorn"} {
		b, err := readFile(t, pkg, "lighthouse.yaml")
		if err != nil {
			t.Fatal(err)
		}
		r, err := Classic(b, ClassicOptions{CatalogSource: "a/b"})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "exactly one OperatorGroup") }) {
			t.Errorf("no note is about the OperatorGroup: %q", r.Notes)
		}
		groups = append(groups, r.Objects[slices.IndexFunc(r.Objects, func(o Object) bool { return o["kind"] == "OperatorGroup" })])
	}
	if diff := cmp.Diff(groups[0], groups[1]); diff != "" {
		t.Error(diff)
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

// Whatever the manifests are, the roles permit what is needed.
func FuzzV1(f *testing.F) {
	f.Add([]byte(`{"kind":"ClusterServiceVersion","metadata":{"name":"a"},"spec":{"installModes":[{"type":"AllNamespaces","supported":true}],"install":{"spec":{"permissions":[{"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*/log"]}]}],"clusterPermissions":[{"serviceAccountName":"b","rules":[{"verbs":["get"],"nonResourceURLs":["/a*"]}]}]}}}}`), []byte(`{"kind":"ClusterRole","apiVersion":"rbac.authorization.k8s.io/v1","rules":[{"verbs":[""],"apiGroups":[""],"resources":[""]}]}`))
	f.Fuzz(func(t *testing.T, csv, other []byte) {
		b := &catalog.Bundle{Package: "p", Image: "quay.io/x/y:v1"}
		for _, manifest := range [][]byte{csv, other} {
			value, err := json.Marshal(map[string][]byte{"data": manifest})
			if err != nil {
				t.Fatal(err)
			}
			b.Properties = append(b.Properties, catalog.Property{Type: "olm.bundle.object", Value: value})
		}
		read, err := Read(b)
		if err != nil {
			return
		}
		r, err := V1(read, V1Options{})
		if err != nil {
			return
		}
		if missing := r.Needs.Without(r.Needs.Roles()); len(missing.Namespaces()) > 0 {
			t.Errorf("the roles do not permit %v", missing)
		}
		if _, err := YAML(r.Objects); err != nil {
			t.Error(err)
		}
	})
}
