package trust_test

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
	"github.com/gantry-mirror/gantry/plan/trust"
)

// source is a site whose source has, below team, an image and an index with signatures, one image without and one with a
// signature of another key, and an unsigned image below free.
type source struct {
	*mirrortest.Site
	key    *ecdsa.PrivateKey
	app    string   // digest
	images []string // digests of those of team/multi
	policy string   // accepts only images with a signature of key, and everything below free
}

func newSource(t *testing.T) *source {
	t.Helper()
	s := &source{Site: mirrortest.New(t, registrytest.Options{})}
	s.key = signingKey(s.Site, "key.pub")
	other := signingKey(s.Site, "other.pub")
	at := s.Source.Host + "/"
	s.app = s.pushed("team/app")
	signImage(s.Site, s.key, "team/app", s.app, at+"team/app")
	s.images = s.pushedIndex()
	for _, child := range s.images {
		signImage(s.Site, s.key, "team/multi", child, at+"team/multi")
	}
	s.pushed("team/unsigned")
	signImage(s.Site, other, "team/stranger", s.pushed("team/stranger"), at+"team/stranger")
	s.pushed("free/tool")
	s.policy = s.Write("policy.json", fmt.Sprintf(`{
  "default": [{"type": "reject"}],
  "transports": {"docker": {
    "%[1]s/team": [{"type": "sigstoreSigned", "keyPath": %[2]q, "signedIdentity": {"type": "matchRepository"}}],
    "%[1]s/free": [{"type": "insecureAcceptAnything"}]
  }}
}
`, s.Source.Host, s.Path("key.pub")))
	return s
}

// pushed pushes a small image to the source and returns its digest.
func (s *source) pushed(name string) string {
	s.T.Helper()
	img, err := registrytest.SizedImage(name, 100)
	if err != nil {
		s.T.Fatal(err)
	}
	_, d, _ := strings.Cut(s.Push(name+":v1", img), "@")
	return d
}

// pushedIndex pushes team/multi and returns the digests of its images.
func (s *source) pushedIndex() (images []string) {
	s.T.Helper()
	multi, err := registrytest.Index("multi")
	var m *v1.IndexManifest
	if err == nil {
		m, err = multi.IndexManifest()
	}
	if err != nil {
		s.T.Fatal(err)
	}
	s.Push("team/multi:v1", multi)
	return elements.Map(m.Manifests, func(child v1.Descriptor) string { return child.Digest.String() })
}

// config writes a configuration with images of the source.
func (s *source) config(names ...string) string {
	for i := range names {
		names[i] = s.Source.Host + "/" + names[i] + ":v1"
	}
	return s.Images(names...)
}

// planned plans images with a policy.
func (s *source) planned(config string, of trust.ImageTrust) (*planning.Result, error) {
	return planning.Make(s.T.Context(), planning.Options{Env: s.Env, Selection: selection.Selection{Config: config}, ImageTrust: of, Workspace: s.Path("planned")})
}

// importing imports an archive with a policy.
func (s *source) importing(disk, prefix string, of trust.ImageTrust, more ...func(*mirroring.Options)) (*mirroring.Result, error) {
	o := s.MirrorOptions("", s.Docker(prefix))
	o.From, o.ImageTrust, o.Workspace = []string{disk}, of, s.Path("inside-"+prefix)
	for _, change := range more {
		change(&o)
	}
	return mirroring.Run(s.T.Context(), o)
}

// verified verifies what was imported.
func (s *source) verified(disk, prefix string, of trust.ImageTrust) (*verify.VerifiedRegistry, error) {
	r, err := verify.Run(s.T.Context(), verify.Options{Env: s.Env, Locations: []string{s.Docker(prefix)}, From: []string{disk}, ImageTrust: of, Workspace: s.Path("inside-" + prefix)})
	if r == nil {
		return nil, err
	}
	return r.Registry, err
}

// counts compares the numbers of verified, unsigned and refused images.
func counts(t *testing.T, v *trust.VerifiedSignatures, verified, unsigned, refused int) {
	t.Helper()
	if v == nil || v.Verified != verified || v.Unsigned != unsigned || v.Refused != refused {
		t.Errorf("%+v, want %d verified, %d unsigned and %d refused", v, verified, unsigned, refused)
	}
}

// TestPlan plans only what the policy accepts.
func TestPlan(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	isc := s.config("team/app", "team/multi", "team/unsigned", "team/stranger", "free/tool")
	r, err := s.planned(isc, trust.ImageTrust{Policy: s.policy})
	mirrortest.Refused(t, err, advice.Partial)
	counts(t, r.Verified, 2, 1, 2)
	der, err := x509.MarshalPKIXPublicKey(s.key.Public())
	fail.On(t, err)
	name := fmt.Sprintf("key %x", sha256.Sum256(der))
	if v := r.Verified; len(v.Signed) != 1 || v.Signed[0].Name != name || v.Signed[0].Images != 2 {
		t.Errorf("%+v", v)
	}
	signers, reasons := map[string]string{}, map[string]string{}
	for _, img := range r.Plan.Images {
		if !strings.HasSuffix(img.Source, ".sig") && len(img.Signers) == 1 {
			signers[strings.TrimPrefix(img.Source, s.Source.Host)] = img.Signers[0].Type + " " + img.Signers[0].Name
		}
	}
	want := map[string]string{"/team/app:v1": "sigstoreSigned " + name, "/team/multi:v1": "sigstoreSigned " + name}
	if diff := cmp.Diff(want, signers); diff != "" || r.Plan.SignaturePolicy == "" {
		t.Errorf("signers by policy %s: %s", r.Plan.SignaturePolicy, diff)
	}
	for _, m := range r.Plan.Missing {
		reasons[strings.TrimPrefix(m.Source, s.Source.Host)] = m.Message
	}
	if !strings.Contains(reasons["/team/unsigned:v1"], "sigstoreSigned requires a signature, and there is none") || !strings.Contains(reasons["/team/stranger:v1"], "no key of the policy matches") || len(reasons) != 2 {
		t.Errorf("missing %v", reasons)
	}
	// The plan is the same each time.
	if again, _ := s.planned(isc, trust.ImageTrust{Policy: s.policy}); again.Digest != r.Digest {
		t.Errorf("the plan is %s, and then %s", r.Digest, again.Digest)
	}
}

// TestPolicyRefused checks that wrong files and options end before anything is requested, and when the policy of the user
// is applied.
func TestPolicyRefused(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	isc := s.config("free/tool")
	bad := s.Write("bad.json", "{\n\"default\": [{\"type\": \"reject\"}],\n\"transport\": {}}")
	keyless := s.Write("keyless.json", `{"default":[{"type":"sigstoreSigned","keyPath":"/nonexistent/key.pub"}]}`)
	s.Source.ResetLog()
	for name, tc := range map[string]struct {
		of    trust.ImageTrust
		words []string
	}{
		"a wrong field":     {trust.ImageTrust{Policy: bad}, []string{bad + ":3: "}},
		"no file":           {trust.ImageTrust{Policy: s.Path("absent.json")}, []string{"Options.Policy", "absent.json"}},
		"stores alone":      {trust.ImageTrust{RegistriesD: s.Dir}, []string{"Options.RegistriesD is for a signature policy"}},
		"a program alone":   {trust.ImageTrust{Cosign: "cosign"}, []string{"Options.Cosign is for a signature policy"}},
		"no such program":   {trust.ImageTrust{Policy: s.policy, Cosign: "no-such-cosign"}, []string{"Options.Cosign", "executable file not found"}},
		"no policy at home": {trust.ImageTrust{SecurePolicy: true}, []string{"Options.SecurePolicy: neither"}},
	} {
		if _, err := os.Stat("/etc/containers/policy.json"); err == nil && name == "no policy at home" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			_, err := s.planned(isc, tc.of)
			mirrortest.Refused(t, err, advice.Input, tc.words...)
		})
	}
	if n := len(s.Source.Log()); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
	_, err := s.planned(isc, trust.ImageTrust{Policy: keyless})
	mirrortest.Refused(t, err, advice.Input, "keyless.json: default: sigstoreSigned: /nonexistent/key.pub")
	home := filepath.Join(s.Vars["HOME"], ".config", "containers")
	fail.On(t, os.MkdirAll(home, 0o700))
	fail.On(t, os.WriteFile(filepath.Join(home, "policy.json"), []byte(`{"default":[{"type":"reject"}]}`), 0o600))
	if _, err := s.planned(isc, trust.ImageTrust{}); err != nil {
		t.Error(err)
	}
	_, err = s.planned(isc, trust.ImageTrust{SecurePolicy: true})
	mirrortest.Refused(t, err, advice.Mismatch, "none of 1 images is accepted", "it rejects every image there")
}

// TestCosign checks that requirements of Fulcio are verified by the program, with the identity of the policy and the digest
// of the image.
func TestCosign(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	policy := s.Write("keyless.json", `{"default":[{"type":"sigstoreSigned","fulcio":{"caPath":"/absent","oidcIssuer":"https://login.example.com","subjectEmail":"dev@example.com"},"rekorPublicKeyPath":"/absent"}]}`)
	program := s.Write("cosign", "#!/bin/sh\necho \"$@\" >> "+s.Path("asked")+"\ncase \"$*\" in *unsigned*) echo 'Error: no matching signatures' >&2; exit 10;; esac\n")
	fail.On(t, os.Chmod(program, 0o700))
	r, err := s.planned(s.config("team/app", "team/unsigned"), trust.ImageTrust{Policy: policy, Cosign: program})
	mirrortest.Refused(t, err, advice.Partial)
	want := []trust.SignedImages{{Images: 1}}
	if diff := cmp.Diff(want, r.Verified.Signed, cmpopts.IgnoreFields(trust.SignedImages{}, "Signer")); diff != "" || r.Verified.Signed[0].Name != "dev@example.com (https://login.example.com)" {
		t.Errorf("%+v", r.Verified)
	}
	if m := r.Plan.Missing; len(m) != 1 || !strings.Contains(m[0].Message, "ended with status 10: Error: no matching signatures") {
		t.Errorf("missing: %+v", m)
	}
	line := "verify --certificate-identity dev@example.com --certificate-oidc-issuer https://login.example.com --output json " + s.Source.Host + "/team/app@" + s.app + "\n"
	if asked := s.Read("asked"); !strings.Contains(asked, line) {
		t.Errorf("asked %s, want %s", asked, line)
	}
}

// TestDisk checks that what was verified at the sources is verified again with the content of the archive and at the mirror,
// and that clusters get the policies with which nodes do the same.
func TestDisk(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	of := trust.ImageTrust{Policy: s.policy}
	disk := s.Archive("disk")
	o := s.MirrorOptions(s.config("team/app", "team/multi", "team/stranger", "free/tool"), disk)
	o.ImageTrust = of
	_, err := mirroring.Run(t.Context(), o)
	mirrortest.Refused(t, err, advice.Partial)
	s.Source.Shut()

	r, err := s.importing(disk, "ocp", of)
	mirrortest.Refused(t, err, advice.Partial)
	counts(t, r.Verified, 2, 1, 0)
	at := s.Source.Host + "/"
	for repository, hash := range map[string]string{"team/app": s.app, "team/multi": s.images[0]} {
		if err := signedAt(s.Site, &s.key.PublicKey, s.Mirror.Host, "ocp/"+repository, hash, at+repository); err != nil {
			t.Error(err)
		}
	}
	if err := signedAt(s.Site, &signingKey(s.Site, "key3.pub").PublicKey, s.Mirror.Host, "ocp/team/app", s.app, at+"team/app"); err == nil {
		t.Error("the check of the test accepts another key")
	}
	v, err := s.verified(disk, "ocp", of)
	mirrortest.Refused(t, err, advice.Mismatch)
	counts(t, v.Verified, 2, 1, 0)

	files, err := filepath.Glob(s.Path("inside-ocp/cluster-resources/*/image-policy-*.yaml"))
	if more, _ := filepath.Glob(s.Path("inside-ocp/cluster-resources/image-policy-*.yaml")); len(files) == 0 {
		files = more
	}
	if err != nil || len(files) != 1 {
		t.Fatalf("policies %v, %v", files, err)
	}
	file := strings.TrimPrefix(files[0], s.Dir)
	text := s.Read(file)
	for _, want := range []string{
		"apiVersion: config.openshift.io/v1\nkind: ClusterImagePolicy\n", "  scopes:\n  - " + at + "team/app\n  - " + at + "team/multi\n  policy:\n",
		"policyType: PublicKey", "keyData: " + base64.StdEncoding.EncodeToString([]byte(s.Read("key.pub"))), "matchPolicy: MatchRepository",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s does not contain %q:\n%s", file, want, text)
		}
	}
	s.Write(file, strings.ReplaceAll(text, at+"team/multi", at+"free/tool"))
	v, err = s.verified(disk, "ocp", trust.ImageTrust{})
	mirrortest.Refused(t, err, advice.Mismatch)
	if found := fmt.Sprintf("%+v", v.Resources); !strings.Contains(found, "free/tool") || !strings.Contains(found, "nodes that apply it refuse this image: the plan has no signature of it") {
		t.Errorf("the changed policy: %s", found)
	}
	// A run without the policy keeps them. The namespace and the version can be chosen, and none can be written.
	_, _ = s.importing(disk, "ocp", trust.ImageTrust{})
	if !s.Exists(file) {
		t.Error("a run without the policy removed them")
	}
	_, _ = s.importing(disk, "ocp", of, func(o *mirroring.Options) { o.ImagePolicies, o.ImagePolicyNamespace = "v1alpha1", "team" })
	if text := s.Read(file); !strings.Contains(text, "apiVersion: config.openshift.io/v1alpha1\nkind: ImagePolicy\n") || !strings.Contains(text, "  namespace: team\n") {
		t.Error(text)
	}
	_, _ = s.importing(disk, "ocp", of, func(o *mirroring.Options) { o.ImagePolicies = "none" })
	if s.Exists(file) {
		t.Error("the policies stay")
	}
}

// TestSite checks that only what the site's policy accepts of an archive is mirrored.
func TestSite(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	disk := s.Exported(s.config("team/app", "team/unsigned", "free/tool"), "disk") // without a policy
	of := trust.ImageTrust{Policy: s.policy}
	r, err := s.importing(disk, "ocp", of)
	mirrortest.Refused(t, err, advice.Partial)
	if f := r.Report.Failed; len(f) != 1 || f[0].Source != s.Source.Host+"/team/unsigned:v1" || !strings.Contains(f[0].Reason, "sigstoreSigned requires a signature, and there is none") {
		t.Errorf("failed: %+v", f)
	}
	s.has(map[string]bool{"ocp/team/app": true, "ocp/team/unsigned": false})
	// Mirrored without the policy, it is found at the mirror.
	if _, err := s.importing(disk, "ocp", trust.ImageTrust{}); err != nil {
		t.Fatal(err)
	}
	v, err := s.verified(disk, "ocp", of)
	mirrortest.Refused(t, err, advice.Mismatch, "the signature policy does not accept 1 of ")
	counts(t, v.Verified, 1, 1, 1)
	if len(v.Refused) != 1 {
		t.Errorf("refused: %+v", v.Refused)
	}
	// Without signatures, the mirror has nothing to verify, but what the archive has was verified.
	r, err = s.importing(disk, "bare", of, func(o *mirroring.Options) { o.RemoveSignatures = true })
	mirrortest.Refused(t, err, advice.Partial)
	counts(t, r.Verified, 1, 1, 1)
	if notes := fmt.Sprint(r.Resources.Notes); !strings.Contains(notes, "no ClusterImagePolicy covers "+s.Source.Host+"/team/app: its signatures are not mirrored") {
		t.Errorf("notes: %s", notes)
	}
}

// has checks which repositories the mirror has under the tag v1.
func (s *source) has(repositories map[string]bool) {
	s.T.Helper()
	for name, want := range repositories {
		if _, err := s.Mirror.Client().Pull(s.T.Context(), name, "v1"); (err == nil) != want {
			s.T.Errorf("%s: %v", name, err)
		}
	}
}
