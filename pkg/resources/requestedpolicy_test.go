package resources

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func policyFile(scopes, key string) File {
	return File{Name: "p.yaml", Text: []byte("apiVersion: config.openshift.io/v1\nkind: ClusterImagePolicy\nmetadata: {name: p}\nspec:\n  scopes: " + scopes +
		"\n  policy:\n    rootOfTrust:\n      policyType: PublicKey\n      publicKey: {keyData: '" + key + "'}\n")}
}

// pemKey is "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n".
const pemKey = "LS0tLS1CRUdJTiBQVUJMSUMgS0VZLS0tLS0KQUFBQQotLS0tLUVORCBQVUJMSUMgS0VZLS0tLS0K"

func TestRequestedPolicies(t *testing.T) {
	t.Parallel()
	r := ReadRequested([]File{policyFile("[quay.io/org, '*.example.com']", pemKey)})
	if len(r.Unreadable) > 0 || len(r.Policies) != 1 {
		t.Fatalf("%+v", r)
	}
	covered := map[string]bool{}
	for _, name := range []string{"quay.io/org/app", "quay.io/org", "quay.io/organization/app", "a.example.com/app", "example.com/app"} {
		covered[name] = r.Policies[0].Covers(name)
	}
	fail.Diff(t, map[string]bool{"quay.io/org/app": true, "quay.io/org": true, "quay.io/organization/app": false, "a.example.com/app": true, "example.com/app": false}, covered)
	for want, f := range map[string]File{
		"it has no scopes":                   policyFile("[]", pemKey),
		"publicKey.keyData is not base64":    policyFile("[quay.io]", "%"),
		"is not a key or certificate in PEM": policyFile("[quay.io]", "QUJD"),
		"it has no key":                      policyFile("[quay.io]\n  other: 1", "")} {
		if want == "it has no key" {
			f.Text = []byte(strings.Replace(string(f.Text), "{keyData: ''}", "{}", 1))
		}
		r := ReadRequested([]File{f})
		if len(r.Policies) > 0 || len(r.Unreadable) != 1 || !strings.Contains(r.Unreadable[0].Err.Error(), want) {
			t.Errorf("want %q: %+v", want, r)
		}
	}
}

func TestRequestedTemplates(t *testing.T) {
	t.Parallel()
	r := ReadRequested([]File{{Name: "cs.yaml", Text: []byte("apiVersion: operators.coreos.com/v1alpha1\nkind: CatalogSource\nmetadata:\n  name: cs\n  annotations: {olm.catalogImageTemplate: 'mirror:5000/org/index:v{kube_major_version}.{kube_minor_version}'}\nspec: {image: 'mirror:5000/org/index:v4.20'}\n")}})
	if len(r.Templates) != 1 {
		t.Fatalf("%+v", r)
	}
	x := r.Templates[0].Template
	if x.Repository() != "mirror:5000/org/index" || !x.Matches("mirror:5000/org/index:v1.33") || x.Matches("mirror:5000/org/index:v4") {
		t.Errorf("%s: %q", x, x.Repository())
	}
	fail.Diff(t, "", (ImageTemplate("mirror:5000/v{kube_major_version}/index")).Repository())
}
