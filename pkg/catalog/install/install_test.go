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

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/rbac"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// readFile reads the manifests of a file below testdata, changed by pairs of old and new text, as a bundle
// of the package.
func readFile(t *testing.T, pkg, file string, changes ...string) (*Bundle, error) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	fail.On(t, err)
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
		fail.On(t, err)
		value, err := json.Marshal(map[string][]byte{"data": manifest})
		fail.On(t, err)
		b.Properties = append(b.Properties, catalog.Property{Type: "olm.bundle.object", Value: value})
	}
	return Read(b)
}

func lighthouse(t *testing.T, changes ...string) *Bundle {
	t.Helper()
	b, err := readFile(t, "lighthouse", "lighthouse.yaml", changes...)
	fail.On(t, err)
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
	fail.On(t, err)
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
		fail.On(t, err)
		got := slices.DeleteFunc(r.things, func(t thing) bool { return t.group != rbac.APIGroup })
		if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(thing{})); diff != "" {
			t.Errorf("watching %q: %s", tc.watched, diff)
		}
	}
}

func TestRendered(t *testing.T) {
	t.Parallel()
	r, err := lighthouse(t).rendered("ns", []string{""}, true)
	fail.On(t, err)
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
	fail.Diff(t, want, got)
	fail.Diff(t, []thing{{rbac.APIGroup, "clusterroles", "", "system:auth-delegator"}}, r.bound, cmp.AllowUnexported(thing{}))
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
		"v1":     v1(V1Options{}),
		"v1-own": v1(V1Options{InstallNamespace: "lamps", Namespaces: []string{"lamps"}, ServiceAccount: "installer", CertManager: true}),
		// operator-controller has its own rights.
		"v1-own-rights": v1(V1Options{Controller: Controller{1, 11}}),
		"v1-one":        v1(V1Options{InstallNamespace: "lamps", Namespaces: []string{"sea"}}),
		"classic":       classic(ClassicOptions{}),
		"classic-several": classic(ClassicOptions{
			InstallNamespace: "lamps", Namespaces: []string{"sea", "lamps", "sea"}, Manual: true, TrustedCA: true,
			Proxy: Proxy{HTTP: "http://proxy.example.com:3128", HTTPS: "http://proxy.example.com:3128", No: ".cluster.local,10.0.0.0/8"},
		}),
		"classic-global": classic(ClassicOptions{InstallNamespace: "openshift-operators", TrustedCA: true}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := install(lighthouse(t))
			fail.On(t, err)
			text, err := YAML(r.Objects)
			fail.On(t, err)
			var got bytes.Buffer
			for _, note := range r.Notes {
				fmt.Fprintf(&got, "# note: %s\n", note)
			}
			got.Write(text)
			file := filepath.Join("testdata", name+".golden.yaml")
			if os.Getenv("GANTRY_TEST_UPDATE_GOLDEN") != "" {
				fail.On(t, os.WriteFile(file, got.Bytes(), 0o644))
			}
			want, err := os.ReadFile(file)
			fail.On(t, err)
			fail.Diff(t, string(want), got.String())
		})
	}
}

// Kinds that OLM installs since 2025 are rendered, with a note for older ones.
func TestNewKinds(t *testing.T) {
	t.Parallel()
	const service, monitor = "apiVersion: v1\nkind: Service\n", "kind: ServiceMonitor\n"
	b := lighthouse(t, service, "apiVersion: console.openshift.io/v1\nkind: ConsolePlugin\n", monitor, "kind: PodMonitor\n")
	rendered, err := b.rendered("ns", []string{""}, false)
	fail.On(t, err)
	for _, want := range []thing{{"console.openshift.io", "consoleplugins", "", "lighthouse-metrics"}, {"monitoring.coreos.com", "podmonitors", "ns", "lighthouse"}} {
		if !slices.Contains(rendered.things, want) {
			t.Errorf("%v is not rendered", want)
		}
	}
	v1, err := V1(b, V1Options{})
	fail.On(t, err)
	classic, err := Classic(b, ClassicOptions{CatalogSource: "a/b"})
	fail.On(t, err)
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
	fail.On(t, err)
	files, err := Files(r.Objects)
	fail.On(t, err)
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
	fail.Diff(t, want, names)
	text, err := YAML(r.Objects)
	fail.On(t, err)
	fail.Diff(t, string(text), string(bytes.Join(all, []byte("---\n"))))
}

// Two operators in a namespace have one OperatorGroup, since OLM installs nothing in a namespace with two.
func TestOperatorGroupIsShared(t *testing.T) {
	t.Parallel()
	var groups []Object
	for _, pkg := range []string{"lighthouse", "foghorn"} {
		b, err := readFile(t, pkg, "lighthouse.yaml")
		fail.On(t, err)
		r, err := Classic(b, ClassicOptions{CatalogSource: "a/b"})
		fail.On(t, err)
		if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "exactly one OperatorGroup") }) {
			t.Errorf("no note is about the OperatorGroup: %q", r.Notes)
		}
		groups = append(groups, r.Objects[slices.IndexFunc(r.Objects, func(o Object) bool { return o["kind"] == "OperatorGroup" })])
	}
	fail.Diff(t, groups[0], groups[1])
}

// Whatever the manifests are, the roles permit what is needed.
func FuzzV1(f *testing.F) {
	f.Add([]byte(`{"kind":"ClusterServiceVersion","metadata":{"name":"a"},"spec":{"installModes":[{"type":"AllNamespaces","supported":true}],"install":{"spec":{"permissions":[{"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*/log"]}]}],"clusterPermissions":[{"serviceAccountName":"b","rules":[{"verbs":["get"],"nonResourceURLs":["/a*"]}]}]}}}}`), []byte(`{"kind":"ClusterRole","apiVersion":"rbac.authorization.k8s.io/v1","rules":[{"verbs":[""],"apiGroups":[""],"resources":[""]}]}`))
	f.Fuzz(func(t *testing.T, csv, other []byte) {
		b := &catalog.Bundle{Package: "p", Image: "quay.io/x/y:v1"}
		for _, manifest := range [][]byte{csv, other} {
			value, err := json.Marshal(map[string][]byte{"data": manifest})
			fail.On(t, err)
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
		_, err = YAML(r.Objects)
		fail.On(t, err)
	})
}
