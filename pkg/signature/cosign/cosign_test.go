package cosign

import (
	"context"
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

const (
	repository = "quay.io/org/release"
	image      = digest.Digest("sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")
)

// statement returns the payload for an image, as cosign writes it.
func statement(name string, d digest.Digest) string {
	return fmt.Sprintf(`{"critical":{"identity":{"docker-reference":%q},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":null}`, name, d)
}

// An artifact is a signature manifest with its payloads.
type artifact struct {
	manifest ocispec.Manifest
	blobs    map[digest.Digest][]byte
}

// add signs a payload with key.
func (a *artifact) add(t testing.TB, key crypto.Signer, payload string) {
	t.Helper()
	hash := sha256.Sum256([]byte(payload))
	signature, err := key.Sign(rand.Reader, hash[:], crypto.SHA256)
	fail.On(t, err)
	d := digest.FromString(payload)
	a.manifest.Layers = append(a.manifest.Layers, ocispec.Descriptor{
		MediaType: PayloadType, Digest: d, Size: int64(len(payload)),
		Annotations: map[string]string{Annotation: base64.StdEncoding.EncodeToString(signature)},
	})
	if a.blobs == nil {
		a.blobs = map[digest.Digest][]byte{}
	}
	a.blobs[d] = []byte(payload)
}

func (a *artifact) text(t testing.TB) []byte {
	t.Helper()
	text, err := json.Marshal(a.manifest)
	fail.On(t, err)
	return text
}

func (a *artifact) blob(_ context.Context, desc ocispec.Descriptor) ([]byte, error) {
	content, ok := a.blobs[desc.Digest]
	if !ok {
		return nil, errors.New("blob unknown")
	}
	return content, nil
}

func rsaKey(t testing.TB) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	fail.On(t, err)
	return key
}

func ecKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	fail.On(t, err)
	return key
}

func TestVerify(t *testing.T) {
	r, e, other := rsaKey(t), ecKey(t), ecKey(t)
	policy := &Policy{Name: "test", Scopes: []string{repository}, Keys: []crypto.PublicKey{r.Public(), e.Public()}}
	good := statement(repository, image)
	for _, tc := range []struct {
		name   string
		key    crypto.Signer // of the one signature; nil is RSA
		says   string
		change func(a *artifact)
		want   string // in the error; "" is none
	}{
		{name: "RSA", says: good},
		{name: "ECDSA", key: e, says: good},
		{name: "by digest", says: statement(repository+"@"+image.String(), image)},
		{name: "by tag", says: statement(repository+":4.21.0-x86_64", image)},
		{name: "something optional", says: strings.Replace(good, `"optional":null`, `"optional":{"creator":"x","more":[1]}`, 1)},
		{name: "nothing optional", says: strings.Replace(good, `,"optional":null`, "", 1)},
		{name: "beside what else is there", says: good, change: func(a *artifact) {
			a.manifest.Layers = append(a.manifest.Layers, ocispec.Descriptor{MediaType: ocispec.MediaTypeImageLayerGzip})
		}},
		{name: "the second of two", says: good, change: func(a *artifact) {
			a.add(t, other, statement(repository, image)+" ")
			slices.Reverse(a.manifest.Layers)
		}},

		{name: "another key", key: other, says: good, want: "no key of the policy matches"},
		{name: "another image", says: statement(repository, digest.FromString("x")), want: "another image, " + digest.FromString("x").String()},
		{name: "another repository", says: statement("quay.io/org/other", image), want: "another repository, quay.io/org/other"},
		{name: "a longer repository", says: statement(repository+"2", image), want: "another repository"},
		{name: "a mirror", says: statement("mirror.local:5000/org/release", image), want: "another repository"},
		{name: "no name", says: statement("", image), want: "image reference is empty"},
		{name: "another type", says: strings.Replace(good, "cosign container image", "atomic container", 1), want: `type "atomic container signature"`},
		{name: "nothing critical", says: `{"optional":null}`, want: "critical is missing"},
		{name: "more that is critical", says: strings.Replace(good, `"type"`, `"more":1,"type"`, 1), want: "more"},
		{name: "a member twice", says: strings.Replace(good, `"type"`, `"type":"","type"`, 1), want: "duplicate"},
		{name: "a member in other case", says: strings.Replace(good, `"type"`, `"Type"`, 1), want: "Type"},
		{name: "not JSON", says: "4.21.0", want: "reading the signed text"},
		{name: "a changed payload", says: good, change: func(a *artifact) { a.blobs[digest.FromString(good)][0]++ }, want: "does not match sha256:"},
		{name: "a payload that is missing", says: good, change: func(a *artifact) { a.blobs = nil }, want: "signature 1: blob unknown"},
		{name: "a changed signature", says: good, change: func(a *artifact) {
			a.manifest.Layers[0].Annotations[Annotation] = base64.StdEncoding.EncodeToString(make([]byte, 256))
		}, want: "no key of the policy matches"},
		{name: "no signature", says: good, change: func(a *artifact) { a.manifest.Layers[0].Annotations = nil }, want: "layer 1 has no signature"},
		{name: "no base64", says: good, change: func(a *artifact) { a.manifest.Layers[0].Annotations[Annotation] = "?" }, want: "layer 1 has no signature"},
		{name: "no payload", says: good, change: func(a *artifact) { a.manifest.Layers[0].MediaType = "text/plain" }, want: "check that the tag ends in .sig"},
		{name: "no digest", says: good, change: func(a *artifact) { a.manifest.Layers[0].Digest = "sha256:x" }, want: `digest "sha256:x"`},
		{name: "a large payload", says: good, change: func(a *artifact) { a.manifest.Layers[0].Size = MaxPayload + 1 }, want: "at most 65536"},
		{name: "a payload of less than nothing", says: good, change: func(a *artifact) { a.manifest.Layers[0].Size = -1 }, want: "has -1 bytes"},
		{name: "very many", says: good, change: func(a *artifact) {
			a.manifest.Layers = slices.Repeat(a.manifest.Layers, maxSignatures+1)
		}, want: "exceed the limit of 128"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var a artifact
			if tc.key == nil {
				tc.key = r
			}
			a.add(t, tc.key, tc.says)
			if tc.change != nil {
				tc.change(&a)
			}
			err := Verify(t.Context(), a.text(t), a.blob, repository, image, policy)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("want %q, got %v", tc.want, err)
			}
		})
	}
	if err := Verify(t.Context(), []byte("<html>"), nil, repository, image, policy); err == nil || !strings.Contains(err.Error(), repository+"@"+image.String()) {
		t.Error(err)
	}
	var a artifact
	a.add(t, r, good)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Verify(ctx, a.text(t), a.blob, repository, image, policy); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	a.add(t, other, good+" ")
	a.add(t, r, statement("quay.io/x", image))
	a.manifest.Layers = a.manifest.Layers[1:]
	want := "no signature of quay.io/org/release@" + image.String() + " satisfies the policy test:\n" +
		"signature 1: no key of the policy matches\nsignature 2: it names another repository, quay.io/x"
	err := Verify(t.Context(), a.text(t), a.blob, repository, image, policy)
	if err == nil {
		t.Fatal("accepted")
	}
	fail.Diff(t, want, err.Error())
}

func TestNeeded(t *testing.T) {
	for version, want := range map[string]bool{
		"3.11.0": false, "4.20.99": false, "4.21.0-ec.1": true, "4.21.0": true, "4.22.3": true, "5.0.0-ec.0": true, "5.1.0": true,
	} {
		if got := Needed(semver.MustParse(version)); got != want {
			t.Errorf("%s: %v", version, got)
		}
	}
	fail.Diff(t, "sha256-"+image.Encoded()+".sig", Tag(image))
}

// policyText returns a ClusterImagePolicy with a key.
func policyText(t testing.TB, key crypto.PublicKey) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	fail.On(t, err)
	data := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	return `apiVersion: config.openshift.io/v1
kind: ClusterImagePolicy
metadata:
  name: openshift
spec:
  scopes:
  - quay.io/org/release
  - registry.example.com:5000
  - quay.io/team
  - "*.example.org"
  policy:
    rootOfTrust:
      policyType: PublicKey
      publicKey:
        keyData: ` + data + "\n"
}

func TestParsePolicy(t *testing.T) {
	key := ecKey(t).Public()
	text := policyText(t, key)
	p, err := ParsePolicy([]byte(text))
	fail.On(t, err)
	if ec, ok := key.(*ecdsa.PublicKey); !ok || len(p.Keys) != 1 || !ec.Equal(p.Keys[0]) || p.Name != "openshift" {
		t.Errorf("%+v", p)
	}
	for name, want := range map[string]bool{
		"quay.io/org/release": true, "quay.io/org/release/sub": true, "quay.io/org/release2": false, "quay.io/org": false, "quay.io": false,
		"registry.example.com:5000/any/thing": true, "registry.example.com/any": false, "quay.io/team/x": true, "quay.io/teams/x": false,
		"a.example.org/x": true, "a.b.example.org/x/y": true, "a.example.org:5000/x": true, "example.org/x": false, "quay.io/a.example.org": false,
	} {
		if got := p.Covers(name); got != want {
			t.Errorf("%s: covered is %v", name, got)
		}
	}

	private := x509.MarshalPKCS1PrivateKey(rsaKey(t))
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Skip(err) // a Go that no longer makes them
	}
	agreement, err := ecdh.X25519().GenerateKey(rand.Reader)
	fail.On(t, err)
	insert := func(before, line string) string { return strings.Replace(text, before, line+before, 1) }
	for _, tc := range []struct{ name, text, want string }{
		{"another kind", strings.Replace(text, "ClusterImagePolicy", "ImagePolicy", 1), "ImagePolicy of config.openshift.io/v1"},
		{"another version", strings.Replace(text, "/v1", "/v1alpha1", 1), "config.openshift.io/v1alpha1, want"},
		{"certificates", strings.Replace(text, "PublicKey", "FulcioCAWithRekor", 1), `policyType is "FulcioCAWithRekor"`},
		{"a log", insert("        keyData:", "        rekorKeyData: eA==\n"), "transparency log"},
		{"another identity", insert("    rootOfTrust:", "    signedIdentity: {matchPolicy: RemapIdentity}\n"), `"RemapIdentity"`},
		{"no scope", text[:strings.Index(text, "  scopes:")] + text[strings.Index(text, "  policy:"):], "spec.scopes is empty"},
		{"a scope of an image", strings.Replace(text, "/team", "/team:v1", 1), `"quay.io/team:v1"`},
		{"a scope of a digest", strings.Replace(text, "/team", "/team@"+image.String(), 1), "is not a repository"},
		{"no key", strings.Replace(text, "publicKey:", "pki:", 1), "publicKey is missing"},
		{"no PEM", text[:strings.Index(text, "keyData:")] + "keyData: eA==\n", "no public key in PEM"},
		{"a private key", text[:strings.Index(text, "keyData:")] + "keyData: " +
			base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: private})) + "\n", "keyData: "},
		{"a weak key", policyText(t, small.Public()), "1024 bits is not supported"},
		{"another algorithm", policyText(t, agreement.PublicKey()), "use RSA, ECDSA or Ed25519"},
		{"no YAML", "kind: [", "reading the policy"},
		{"large", text + strings.Repeat("#", maxPolicy), "more than 1048576 bytes"},
	} {
		if _, err := ParsePolicy([]byte(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: want %q, got %v", tc.name, tc.want, err)
		}
	}
	for _, match := range []string{"MatchRepoDigestOrExact", "MatchRepository"} {
		if _, err := ParsePolicy([]byte(insert("    rootOfTrust:", "    signedIdentity: {matchPolicy: "+match+"}\n"))); err != nil {
			t.Error(err)
		}
	}
}

// TestRealPolicy parses the policy that payloads contain.
func TestRealPolicy(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "shared", "releases", "keys", "0000_90_openshift-cluster-image-policy.yaml"))
	if err != nil {
		t.Skipf("no real policy: %v", err)
	}
	p, err := ParsePolicy(text)
	fail.On(t, err)
	want := []string{"quay.io/openshift-release-dev/ocp-release", "quay.io/openshift-release-dev/ocp-v4.0-art-dev", "quay.io/openshift-release-dev/ocp-v5.0-art-dev"}
	fail.Diff(t, want, p.Scopes)
	if key, ok := p.Keys[0].(*rsa.PublicKey); !ok || len(p.Keys) != 1 || key.N.BitLen() != 4096 {
		t.Errorf("keys %v", p.Keys)
	}
	if !p.Covers(want[1]) || p.Covers("quay.io/openshift-release-dev/ocp-release-nightly") {
		t.Error("the policy covers other repositories than its scopes say")
	}
}
