package main

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// imagePolicy is a policy that accepts only images with a signature of key.pub, and everything below
// free.
func (w *fixture) imagePolicy() string {
	key, _ := json.Marshal(w.path("key.pub"))
	return w.write("policy.json", fmt.Sprintf(`{
  "default": [{"type": "reject"}],
  "transports": {"docker": {
    "%[1]s/team": [{"type": "sigstoreSigned", "keyPath": %[2]s, "signedIdentity": {"type": "matchRepository"}}],
    "%[1]s/free": [{"type": "insecureAcceptAnything"}]
  }}
}
`, w.source.Host, key))
}

// push pushes an image to the source and returns its digest.
func (w *fixture) pushSigned(repository string, content interface{ Digest() (v1.Hash, error) }) string {
	w.t.Helper()
	at, ok := content.(registrytest.Content)
	if !ok {
		w.t.Fatalf("%T is no image", content)
	}
	d, err := w.source.Client().Push(w.t.Context(), repository, "v1", at)
	if err != nil {
		w.t.Fatal(err)
	}
	return d.String()
}

// policySource has, below team, an image and an index with signatures, one image without and one with a
// signature of another key, and an unsigned image below free.
func policySource(t *testing.T) (w *fixture, key *ecdsa.PrivateKey, app, index string, images []string) {
	t.Helper()
	w = newFixture(t, registrytest.Options{})
	key = w.signingKey("key.pub")
	other := w.signingKey("other.pub")
	image := func(name string) v1.Image {
		img, err := registrytest.SizedImage(name, 100)
		if err != nil {
			t.Fatal(err)
		}
		return img
	}
	at := w.source.Host + "/"
	app = w.pushSigned("team/app", image("app"))
	w.signImage(key, "team/app", app, at+"team/app")
	multi, err := registrytest.Index("multi")
	if err != nil {
		t.Fatal(err)
	}
	index = w.pushSigned("team/multi", multi)
	m, err := multi.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, child := range m.Manifests {
		w.signImage(key, "team/multi", child.Digest.String(), at+"team/multi")
		images = append(images, child.Digest.String())
	}
	w.pushSigned("team/unsigned", image("unsigned"))
	stranger := w.pushSigned("team/stranger", image("stranger"))
	w.signImage(other, "team/stranger", stranger, at+"team/stranger")
	w.pushSigned("free/tool", image("tool"))
	return w, key, app, index, images
}

func (w *fixture) additional(names ...string) string {
	var b strings.Builder
	b.WriteString("  additionalImages:\n")
	for _, name := range names {
		fmt.Fprintf(&b, "  - name: %s/%s:v1\n", w.source.Host, name)
	}
	return w.config("isc.yaml", b.String())
}

// TestImagePolicyPlan: only what the policy accepts is planned.
func TestImagePolicyPlan(t *testing.T) {
	t.Parallel()
	w, key, _, _, _ := policySource(t)
	policy := w.imagePolicy()
	isc := w.additional("team/app", "team/multi", "team/unsigned", "team/stranger", "free/tool")
	o := w.gantry("plan", "-c", isc, "--policy", policy, "--lock", w.path("plan.json"), "-o", "json")
	if o.code != exitPartial {
		t.Fatalf("ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	var result struct {
		Plan struct {
			SignaturePolicy string
			Images          []struct {
				Source  string
				Signers []struct{ Type, Name string }
			}
			Missing []struct{ Source, Reason string }
		}
		Verified struct {
			Verified, Unsigned, Refused int
			Signed                      []struct {
				Type, Name string
				Images     int
			}
		} `json:"verifiedSignatures"`
	}
	if err := json.Unmarshal([]byte(o.stdout), &result); err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	fingerprint := fmt.Sprintf("key %x", sha256.Sum256(der))
	v := result.Verified
	if v.Verified != 2 || v.Unsigned != 1 || v.Refused != 2 || len(v.Signed) != 1 || v.Signed[0].Name != fingerprint || v.Signed[0].Images != 2 {
		t.Errorf("%+v", v)
	}
	signers := map[string]string{}
	for _, img := range result.Plan.Images {
		if strings.HasSuffix(img.Source, ".sig") {
			continue
		}
		for _, s := range img.Signers {
			signers[strings.TrimPrefix(img.Source, w.source.Host)] += s.Type + " " + s.Name
		}
	}
	if want := "sigstoreSigned " + fingerprint; len(signers) != 2 || signers["/team/app:v1"] != want || signers["/team/multi:v1"] != want || result.Plan.SignaturePolicy == "" {
		t.Errorf("signers %v, policy %s", signers, result.Plan.SignaturePolicy)
	}
	reasons := map[string]string{}
	for _, m := range result.Plan.Missing {
		reasons[strings.TrimPrefix(m.Source, w.source.Host)] = m.Reason
	}
	if !strings.Contains(reasons["/team/unsigned:v1"], "sigstoreSigned requires a signature, and there is none") || !strings.Contains(reasons["/team/stranger:v1"], "no key of the policy matches") || len(reasons) != 2 {
		t.Errorf("missing %v", reasons)
	}
	// The plan is the same each time, and text says what JSON does.
	o = w.gantry("plan", "-c", isc, "--policy", policy, "--lock", w.path("again.json"))
	one, err1 := os.ReadFile(w.path("plan.json"))
	two, err2 := os.ReadFile(w.path("again.json"))
	if err1 != nil || err2 != nil || string(one) != string(two) {
		t.Errorf("the plans differ: %v %v", err1, err2)
	}
	if want := "Signatures by " + policy + ": 2 images verified, 1 accepted without verification, 2 refused.\n  2 images by " + fingerprint + " (sigstoreSigned)\n"; !strings.Contains(o.stdout, want) {
		t.Errorf("does not print %q:\n%s", want, o.stdout)
	}
	if text := w.must("explain", "--plan", w.path("plan.json"), "team/app").stdout; !strings.Contains(text, "signed by "+fingerprint+" (sigstoreSigned)") {
		t.Error(text)
	}
}

// TestImagePolicyRefusals: flags and files that are wrong end before anything is requested.
func TestImagePolicyRefusals(t *testing.T) {
	t.Parallel()
	w, _, _, _, _ := policySource(t)
	isc := w.additional("free/tool")
	bad := w.write("bad.json", "{\n\"default\": [{\"type\": \"reject\"}],\n\"transport\": {}}")
	keyless := w.write("keyless.json", `{"default":[{"type":"sigstoreSigned","keyPath":"/nonexistent/key.pub"}]}`)
	w.source.ResetLog()
	w.refuse(exitUsage, []string{bad + ":3: "}, "plan", "-c", isc, "--policy", bad)
	w.refuse(exitUsage, []string{"--policy", "absent.json"}, "plan", "-c", isc, "--policy", w.path("absent.json"))
	w.refuse(exitUsage, []string{"--policy is empty"}, "plan", "-c", isc, "--policy", "")
	w.refuse(exitUsage, []string{"--registries.d is for a signature policy"}, "mirror", "-c", isc, "--registries.d", w.dir, w.docker(""))
	w.refuse(exitUsage, []string{"--cosign", "executable file not found"}, "plan", "-c", isc, "--policy", w.imagePolicy(), "--cosign", "no-such-cosign")
	if _, err := os.Stat("/etc/containers/policy.json"); err != nil {
		w.refuse(exitUsage, []string{"--secure-policy: neither"}, "plan", "-c", isc, "--secure-policy")
	}
	w.refuse(exitUsage, []string{`--image-policies "v2"; give v1 or v1alpha1 or none`}, "mirror", "-c", isc, "--policy", w.imagePolicy(), "--image-policies", "v2", w.docker(""))
	w.refuse(exitUsage, []string{"--policy is for docker://"}, "verify", "--policy", w.imagePolicy(), "file://"+w.dir)
	if n := len(w.source.Log()); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
	w.refuse(exitUsage, []string{"keyless.json: default: sigstoreSigned: /nonexistent/key.pub"}, "plan", "-c", isc, "--policy", keyless)

	// The policy of the user is applied only if that is requested.
	home := filepath.Join(w.env["HOME"], ".config", "containers")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "policy.json"), []byte(`{"default":[{"type":"reject"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	w.must("plan", "-c", isc)
	w.refuse(exitMismatch, []string{"none of 1 images is accepted", "it rejects every image there"}, "plan", "-c", isc, "--secure-policy")
}

// TestImagePolicyCosign: requirements of Fulcio are verified by the program, with the identity of the
// policy and the digest of the image.
func TestImagePolicyCosign(t *testing.T) {
	t.Parallel()
	w, _, app, _, _ := policySource(t)
	isc := w.additional("team/app", "team/unsigned")
	policy := w.write("keyless.json", `{"default":[{"type":"sigstoreSigned","fulcio":{"caPath":"/absent","oidcIssuer":"https://login.example.com","subjectEmail":"dev@example.com"},"rekorPublicKeyPath":"/absent"}]}`)
	program := w.path("cosign")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$@\" >> "+w.path("asked")+"\ncase \"$*\" in *unsigned*) echo 'Error: no matching signatures' >&2; exit 10;; esac\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	o := w.gantry("plan", "-c", isc, "--policy", policy, "--cosign", program)
	if o.code != exitPartial || !strings.Contains(o.stdout, "1 image by dev@example.com (https://login.example.com) (sigstoreSigned)") || !strings.Contains(o.stdout, "ended with status 10: Error: no matching signatures") {
		t.Errorf("ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	asked, err := os.ReadFile(w.path("asked"))
	want := "verify --certificate-identity dev@example.com --certificate-oidc-issuer https://login.example.com --output json " + w.source.Host + "/team/app@" + app + "\n"
	if err != nil || !strings.Contains(string(asked), want) {
		t.Errorf("asked %s, want %s (%v)", asked, want, err)
	}
}

// TestImagePolicyDisk: what was verified at the sources is verified again with the content of the archive
// and at the mirror, and clusters get the policies with which nodes do the same.
func TestImagePolicyDisk(t *testing.T) {
	t.Parallel()
	w, key, app, index, images := policySource(t)
	policy := w.imagePolicy()
	isc := w.additional("team/app", "team/multi", "team/stranger", "free/tool")
	w.refuse(exitPartial, []string{"no key of the policy matches"}, "mirror", "-c", isc, "--policy", policy, "file://"+w.path("disk"))
	w.source.Shut()

	o := w.gantry("mirror", "--from", "file://"+w.path("disk"), "--policy", policy, "--workspace", w.path("site"), w.docker("/ocp"))
	if want := "Signatures by " + policy + ": 2 images verified, 1 accepted without verification.\n"; o.code != exitPartial || !strings.Contains(o.stdout, want) {
		t.Errorf("ended with %d, want %q\n%s%s", o.code, want, o.stdout, o.stderr)
	}
	at := w.source.Host + "/"
	for repository, hash := range map[string]string{"team/app": app, "team/multi": images[0]} {
		if err := w.signedAt(&key.PublicKey, w.mirror.Host, "ocp/"+repository, hash, at+repository); err != nil {
			t.Error(err)
		}
	}
	other := w.signingKey("key3.pub")
	if err := w.signedAt(&other.PublicKey, w.mirror.Host, "ocp/team/app", app, at+"team/app"); err == nil {
		t.Error("the check of the test accepts another key")
	}

	o = w.gantry("verify", "--from", "file://"+w.path("disk"), "--policy", policy, "--workspace", w.path("site"), w.docker("/ocp"))
	if !strings.Contains(o.stdout, "2 images verified, 1 accepted without verification.") {
		t.Errorf("ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	_ = index

	files, err := filepath.Glob(w.path("site/cluster-resources/image-policy-*.yaml"))
	if err == nil && len(files) == 0 {
		files, err = filepath.Glob(w.path("site/cluster-resources/*/image-policy-*.yaml"))
	}
	if err != nil || len(files) != 1 {
		t.Fatalf("policies %v, %v\n%s", files, err, o.stdout)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	pub, err := os.ReadFile(w.path("key.pub"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"apiVersion: config.openshift.io/v1\nkind: ClusterImagePolicy\n", "  scopes:\n  - " + at + "team/app\n  - " + at + "team/multi\n  policy:\n",
		"policyType: PublicKey", "keyData: " + base64.StdEncoding.EncodeToString(pub), "matchPolicy: MatchRepository",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %q:\n%s", files[0], want, text)
		}
	}
	w.change(files[0], at+"team/multi", at+"free/tool")
	o = w.gantry("verify", "--from", "file://"+w.path("disk"), "--workspace", w.path("site"), w.docker("/ocp"))
	for _, want := range []string{"the file was changed since Gantry wrote it", "free/tool", "nodes that apply it refuse this image: the plan has no signature of it"} {
		if o.code != exitMismatch || !strings.Contains(o.stdout, want) || strings.Contains(o.stdout, "team/app:v1: nodes") {
			t.Errorf("verify ended with %d and does not print %q:\n%s%s", o.code, want, o.stdout, o.stderr)
		}
	}
	// A run without the policy keeps them.
	o = w.gantry("mirror", "--from", "file://"+w.path("disk"), "--workspace", w.path("site"), w.docker("/ocp"))
	if _, err := os.Stat(files[0]); err != nil {
		t.Errorf("%v\n%s%s", err, o.stdout, o.stderr)
	}
	// The namespace and the version can be chosen, and none can be written.
	w.gantry("mirror", "--from", "file://"+w.path("disk"), "--policy", policy, "--image-policies", "v1alpha1", "--image-policy-namespace", "team", "--workspace", w.path("site"), w.docker("/ocp"))
	text, err = os.ReadFile(files[0])
	if err != nil || !strings.Contains(string(text), "apiVersion: config.openshift.io/v1alpha1\nkind: ImagePolicy\n") || !strings.Contains(string(text), "  namespace: team\n") {
		t.Errorf("%s, %v", text, err)
	}
	w.gantry("mirror", "--from", "file://"+w.path("disk"), "--policy", policy, "--image-policies", "none", "--workspace", w.path("site"), w.docker("/ocp"))
	if _, err := os.Stat(files[0]); err == nil {
		t.Error("the policies stay")
	}
}

// TestImagePolicySite: if the site's policy accepts less of an archive, only that is mirrored.
func TestImagePolicySite(t *testing.T) {
	t.Parallel()
	w, _, _, _, _ := policySource(t)
	isc := w.additional("team/app", "team/unsigned", "free/tool")
	w.must("mirror", "-c", isc, "file://"+w.path("disk")) // without a policy
	policy := w.imagePolicy()
	w.refuse(exitPartial, []string{"not mirrored: " + w.source.Host + "/team/unsigned:v1", "sigstoreSigned requires a signature, and there is none"},
		"mirror", "--from", "file://"+w.path("disk"), "--policy", policy, "--workspace", w.path("site"), w.docker("/ocp"))
	if _, err := w.mirror.Client().Pull(t.Context(), "ocp/team/app", "v1"); err != nil {
		t.Error(err)
	}
	if _, err := w.mirror.Client().Pull(t.Context(), "ocp/team/unsigned", "v1"); err == nil {
		t.Error("the mirror has an image that the policy refuses")
	}
	// Mirrored without the policy, it is found at the mirror.
	w.must("mirror", "--from", "file://"+w.path("disk"), "--workspace", w.path("site"), w.docker("/ocp"))
	o := w.gantry("verify", "--from", "file://"+w.path("disk"), "--policy", policy, "--workspace", w.path("site"), w.docker("/ocp"))
	if o.code != exitMismatch || !strings.Contains(o.stdout, "1 image verified, 1 accepted without verification, 1 refused.") || !strings.Contains(o.stdout, "Refused by the signature policy\n") ||
		!strings.Contains(o.stderr, "the signature policy does not accept 1 of ") {
		t.Errorf("ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	// Without signatures, the mirror has nothing to verify, but what the archive has was verified.
	o = w.gantry("mirror", "--from", "file://"+w.path("disk"), "--policy", policy, "--remove-signatures", "--workspace", w.path("site2"), w.docker("/bare"))
	if o.code != exitPartial || !strings.Contains(o.stdout, "1 image verified") || !strings.Contains(o.stdout, "no ClusterImagePolicy covers "+w.source.Host+"/team/app: its signatures are not mirrored") {
		t.Errorf("ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
}
