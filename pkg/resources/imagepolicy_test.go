package resources

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// examplePolicies are policies of every kind. Clusters compare only how the text begins and ends.
func examplePolicies() []ImagePolicy {
	key := []byte("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n")
	certificate := []byte("-----BEGIN CERTIFICATE-----\n" + strings.Repeat("A", 64) + "\n-----END CERTIFICATE-----\n")
	return []ImagePolicy{
		{Scopes: []string{"quay.io/org/b", "quay.io/org/a"}, Key: key, Match: "MatchRepository"},
		{Scopes: []string{"quay.io/org/c", "quay.io/org/a"}, Key: key, Match: "MatchRepository"},
		{Scopes: []string{"registry.example.com:5000/org/a"}, Key: key, RekorKey: key, Match: "MatchRepoDigestOrExact"},
		{Scopes: []string{"localhost:5000/a"}, FulcioCA: certificate, RekorKey: key, Issuer: "https://login.example.com", Email: "dev@example.com", Match: "ExactRepository", Repository: "quay.io/org/a"},
		{Scopes: []string{"127.0.0.1:5000/a"}, Roots: certificate, Intermediates: certificate, SubjectEmail: "dev@example.com", SubjectHostname: "build.example.com", Match: "RemapIdentity", Prefix: "127.0.0.1:5000/a", SignedPrefix: "quay.io"},
	}
}

func TestBuildImagePolicies(t *testing.T) {
	t.Parallel()
	files, err := BuildImagePolicies(examplePolicies(), Options{Suffix: "east"})
	if err != nil || len(files) != 4 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	joined := ""
	for _, f := range files {
		if !strings.HasPrefix(f.Name, "image-policy-east-") || !strings.HasSuffix(f.Name, "-0.yaml") {
			t.Errorf("the file is called %s", f.Name)
		}
		joined += string(f.Text)
	}
	if !strings.Contains(joined, "  scopes:\n  - quay.io/org/a\n  - quay.io/org/b\n  - quay.io/org/c\n") {
		t.Errorf("policies that demand the same are not one:\n%s", joined)
	}
	again, err := BuildImagePolicies([]ImagePolicy{examplePolicies()[1], examplePolicies()[0]}, Options{Suffix: "east"})
	if err != nil || len(again) != 1 || !strings.Contains(joined, string(again[0].Text)) {
		t.Errorf("another order gives another object: %v, %v", again, err)
	}

	many := ImagePolicy{Key: []byte("k"), Match: "MatchRepository"}
	for i := range maxScopes + 1 {
		many.Scopes = append(many.Scopes, fmt.Sprintf("quay.io/org/image%03d", i))
	}
	if files, err = BuildImagePolicies([]ImagePolicy{many}, Options{}); err != nil || len(files) != 2 || !strings.HasSuffix(files[1].Name, "-1.yaml") || strings.Count(string(files[1].Text), "- quay.io") != 1 {
		t.Errorf("%d files, %v", len(files), err)
	}
	if files, err = BuildImagePolicies([]ImagePolicy{many}, Options{ImagePolicies: NoImagePolicies}); err != nil || len(files) > 0 {
		t.Errorf("%d files, %v", len(files), err)
	}
	if files, err = BuildImagePolicies(examplePolicies()[:1], Options{ImagePolicies: ImagePolicyV1alpha1, ImagePolicyNamespace: "team"}); err != nil || !bytes.Contains(files[0].Text, []byte("apiVersion: config.openshift.io/v1alpha1\nkind: ImagePolicy\nmetadata:\n  name: image-policy-")) || !bytes.Contains(files[0].Text, []byte("  namespace: team\n")) {
		t.Errorf("%s, %v", files, err)
	}
}

// TestImagePolicyCRDs validates policies as the API server does.
func TestImagePolicyCRDs(t *testing.T) {
	t.Parallel()
	cluster, err := BuildImagePolicies(examplePolicies(), Options{})
	fail.On(t, err)
	namespaced, err := BuildImagePolicies(examplePolicies(), Options{ImagePolicyNamespace: "team"})
	fail.On(t, err)
	wrong := File{cluster[0].Name, bytes.Replace(cluster[0].Text, []byte("policyType: "), []byte("policyType: Other"), 1)}
	checkCRDs(t, slices.Concat(cluster, namespaced), []File{wrong}, []string{"policyType"})
}

// TestCheckScope: what CheckScope accepts is what the CRD accepts.
func TestCheckScope(t *testing.T) {
	t.Parallel()
	valid := []string{"quay.io/a", "quay.io:443/a/b_c__d---e", "localhost/a", "localhost:5000/a", "127.0.0.1:5000/a", "a-b.example/x"}
	for _, scope := range valid {
		if err := CheckScope(scope); err != nil {
			t.Errorf("%s: %v", scope, err)
		}
	}
	invalid := []string{"registry:5000/a", "registry/a", "[::1]:5000/a", "quay.io/" + strings.Repeat("a", maxScope)}
	for _, scope := range invalid {
		if CheckScope(scope) == nil {
			t.Errorf("%.80s is accepted", scope)
		}
	}
	var files []File
	for _, scope := range append(valid, invalid...) {
		some, err := BuildImagePolicies([]ImagePolicy{{Scopes: []string{scope}, Key: examplePolicies()[0].Key, Match: "MatchRepository"}}, Options{})
		fail.On(t, err)
		files = append(files, some...)
	}
	for i, said := range crdcheck(t, files) {
		if strings.HasPrefix(said, "ok ") != (i < len(valid)) {
			t.Errorf("%s: %s", append(valid, invalid...)[i], said)
		}
	}
	large := ImagePolicy{Key: make([]byte, maxTrustData)}
	if large.Check() == nil || (&ImagePolicy{Key: []byte("k")}).Check() != nil {
		t.Error("the size of keys is not checked")
	}
}
