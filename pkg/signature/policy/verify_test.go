package policy

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/signature/cosign"
)

const manifest = `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json"}`

var dImage = digest.FromString(manifest)

const repository = "quay.io/org/app"

// judge verifies an image by tag with a sigstoreSigned requirement.
func judge(t *testing.T, members string, files map[string][]byte, f *found, name string) ([]Signer, error) {
	t.Helper()
	p := parse(t, docker("quay.io/org", `{"type":"sigstoreSigned",`+members+`,"signedIdentity":{"type":"matchRepository"}}`), files)
	ref, err := reference.Parse(name)
	fail.On(t, err)
	f.Manifest = []byte(manifest)
	v := Verifier{Policy: p, Finder: f, Now: func() time.Time { return now }}
	return v.Verify(t.Context(), Image{Reference: ref, Digest: dImage})
}

func expect(t *testing.T, name string, signers []Signer, err error, wantSigner, wantError string) {
	t.Helper()
	var refused *RefusedError
	switch {
	case wantError == "" && err != nil:
		t.Errorf("%s: refused: %v", name, err)
	case wantError == "" && (len(signers) != 1 || signers[0].Name != wantSigner):
		t.Errorf("%s: signed by %+v, want %s", name, signers, wantSigner)
	case wantError != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), wantError)):
		t.Errorf("%s: want %q, got %v (%v)", name, wantError, err, signers)
	}
}

func keyName(key crypto.Signer) string { return "key " + cosign.Fingerprint(key.Public()) }

// TestKeys: every kind of key accepts its own signature and refuses all others.
func TestKeys(t *testing.T) {
	keys := map[string]crypto.Signer{"p256": ecOnce(), "p384": ec2Once(), "rsa": rsaOnce(), "ed25519": edOnce()}
	files := map[string][]byte{}
	for name, key := range keys {
		files[name] = publicKey(key)
	}
	good := simple(repository, dImage)
	for name, key := range keys {
		for signerName, by := range keys {
			want := ""
			if name != signerName {
				want = "no key of the policy matches"
			}
			f := &found{Attached: Attached{Signatures: []Attachment{attach(by, good)}}}
			signers, err := judge(t, `"keyPath":"`+name+`"`, files, f, repository+":v1")
			expect(t, name+" by "+signerName, signers, err, keyName(key), want)
		}
	}
	f := &found{Attached: Attached{Signatures: []Attachment{attach(ec2Once(), good), attach(edOnce(), good)}}}
	signers, err := judge(t, `"keyPaths":["p256","ed25519"]`, files, f, repository+":v1")
	expect(t, "the second of both", signers, err, keyName(edOnce()), "")
}

// TestSignatures: what is wrong with a signature.
func TestSignatures(t *testing.T) {
	key := ecOnce()
	files := map[string][]byte{"key": publicKey(key)}
	good := simple(repository, dImage)
	tampered := attach(key, good)
	tampered.Payload = simple(repository, digest.FromString("other"))
	swapped := attach(key, good) // the payload and its descriptor are replaced, the signature stays
	swapped.Payload = simple(repository+"2", dImage)
	swapped.Signature.Payload.Digest, swapped.Signature.Payload.Size = digest.FromBytes(swapped.Payload), int64(len(swapped.Payload))
	for name, tc := range map[string]struct {
		a    []Attachment
		want string
	}{
		"good":                  {[]Attachment{attach(key, good)}, ""},
		"none":                  {nil, "sigstoreSigned requires a signature, and there is none"},
		"another image":         {[]Attachment{attach(key, simple(repository, digest.FromString("other")))}, "it signs another image, " + digest.FromString("other").String()},
		"another repository":    {[]Attachment{attach(key, simple("quay.io/org/other", dImage))}, `it names "quay.io/org/other"; the policy requires quay.io/org/app`},
		"a tampered payload":    {[]Attachment{tampered}, "its payload does not match sha256:"},
		"a swapped payload":     {[]Attachment{swapped}, "no key of the policy matches"},
		"another type":          {[]Attachment{attach(key, []byte(strings.Replace(string(good), "cosign container", "atomic container", 1)))}, `type "atomic container`},
		"unknown critical":      {[]Attachment{attach(key, []byte(strings.Replace(string(good), `"type"`, `"x":1,"type"`, 1)))}, "reading the signed text"},
		"all reasons":           {[]Attachment{tampered, attach(ec2Once(), good)}, "signature 1: its payload does not match"},
		"all reasons, numbered": {[]Attachment{tampered, attach(ec2Once(), good)}, "signature 2: no key"},
	} {
		f := &found{Attached: Attached{Signatures: tc.a}}
		signers, err := judge(t, `"keyPath":"key"`, files, f, repository+":v1")
		expect(t, name, signers, err, keyName(key), tc.want)
	}
	_, err := judge(t, `"keyPath":"key"`, files, &found{err: errors.New("503 Service Unavailable")}, repository+":v1")
	var refused *RefusedError
	if err == nil || errors.As(err, &refused) || !strings.Contains(err.Error(), "503") {
		t.Errorf("a registry that does not respond refuses: %v", err)
	}
}

func TestRekor(t *testing.T) {
	key, log := ecOnce(), logOnce()
	files := map[string][]byte{"key": publicKey(key), "key2": publicKey(rsaOnce()), "log": publicKey(log), "log2": publicKey(ec2Once())}
	good := simple(repository, dImage)
	logged := func(change func(a *Attachment, body *[]byte, by *crypto.Signer)) []Attachment {
		a := attach(key, good)
		body, by := logBody(good, a.Bytes, publicKey(key)), crypto.Signer(log)
		if change != nil {
			change(&a, &body, &by)
		}
		_, a.Log = promise(by, body, now)
		return []Attachment{a}
	}
	other := attach(key, good) // another signature of the same text: ECDSA signatures differ each time
	for name, tc := range map[string]struct {
		a    []Attachment
		want string
	}{
		"good":        {logged(nil), ""},
		"not logged":  {[]Attachment{attach(key, good)}, "it was not logged"},
		"another log": {logged(func(_ *Attachment, _ *[]byte, by *crypto.Signer) { *by = ec2Once() }), "no key of a transparency log"},
		"another payload": {logged(func(a *Attachment, body *[]byte, _ *crypto.Signer) {
			*body = logBody([]byte("x"), a.Bytes, publicKey(key))
		}), "another payload"},
		"another signature": {logged(func(_ *Attachment, body *[]byte, _ *crypto.Signer) {
			*body = logBody(good, other.Bytes, publicKey(key))
		}), "another signature"},
		"another key": {logged(func(a *Attachment, body *[]byte, _ *crypto.Signer) {
			*body = logBody(good, a.Bytes, publicKey(ec2Once()))
		}), "another key"},
		"another kind": {logged(func(_ *Attachment, body *[]byte, _ *crypto.Signer) {
			*body = []byte(`{"apiVersion":"0.0.1","kind":"rpm","spec":{}}`)
		}), `kind "rpm"`},
		"an altered promise": {func() []Attachment {
			a := logged(nil)
			a[0].Log = strings.Replace(a[0].Log, `"logIndex":7`, `"logIndex":8`, 1)
			return a
		}(), "no key of a transparency log"},
		"not a promise": {func() []Attachment { a := logged(nil); a[0].Log = "{}"; return a }(), "promise of the log"},
	} {
		signers, err := judge(t, `"keyPaths":["key2","key"],"rekorPublicKeyPaths":["log"]`, files, &found{Attached: Attached{Signatures: tc.a}}, repository+":v1")
		expect(t, name, signers, err, keyName(key), tc.want)
	}
}

func TestFulcio(t *testing.T) {
	a, leaf := authorityOnce(), ec2Once()
	files := map[string][]byte{"ca": certificate(a.root.Raw), "log": publicKey(logOnce())}
	const members = `"fulcio":{"caPath":"ca","oidcIssuer":"https://login.example.com","subjectEmail":"dev@example.com"},"rekorPublicKeyPath":"log"`
	good := simple(repository, dImage)
	// made returns a signature with a certificate that began to be valid a year ago.
	year := now.AddDate(-1, 0, 0)
	made := func(by *authority, logged time.Time, change func(*x509.Certificate)) []Attachment {
		out := attach(leaf, good)
		cert := certificate(by.issue(leaf, year, change))
		out.Certificate, out.Chain = string(cert), string(by.chain())
		_, out.Log = promise(logOnce(), logBody(good, out.Bytes, cert), logged)
		return []Attachment{out}
	}
	in := year.Add(5 * time.Minute)
	for name, tc := range map[string]struct {
		a    []Attachment
		want string
	}{
		"good":                    {made(a, in, nil), ""},
		"logged after it expired": {made(a, year.Add(11*time.Minute), nil), "certificate has expired"},
		"logged before it began":  {made(a, year.Add(-time.Minute), nil), "is not yet valid"},
		"another authority":       {made(newAuthority("ca"), in, nil), "signed by unknown authority"},
		"another identity":        {made(a, in, func(c *x509.Certificate) { c.EmailAddresses = []string{"eve@example.com"} }), `is for ["eve@example.com"]`},
		"another issuer": {made(a, in, func(c *x509.Certificate) {
			c.ExtraExtensions[0].Value, c.ExtraExtensions = []byte("https://other.example"), c.ExtraExtensions[:1]
		}), `"https://other.example"`},
		"two issuers":               {made(a, in, func(c *x509.Certificate) { c.ExtraExtensions[0].Value = []byte("https://other.example") }), "several issuers"},
		"no issuer":                 {made(a, in, func(c *x509.Certificate) { c.ExtraExtensions = nil }), "no issuer"},
		"only the second extension": {made(a, in, func(c *x509.Certificate) { c.ExtraExtensions = c.ExtraExtensions[1:] }), ""},
		"not for signing code":      {made(a, in, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }), "incompatible key usage"},
		"no certificate":            {func() []Attachment { s := made(a, in, nil); s[0].Certificate = ""; return s }(), "another key or certificate"},
		"no chain":                  {func() []Attachment { s := made(a, in, nil); s[0].Chain = ""; return s }(), "unknown authority"},
		"a large chain":             {func() []Attachment { s := made(a, in, nil); s[0].Chain = strings.Repeat(s[0].Chain, 20); return s }(), "more than 16 certificates"},
		"not logged":                {func() []Attachment { s := made(a, in, nil); s[0].Log = ""; return s }(), "it was not logged"},
		"signed by another key": {func() []Attachment {
			s := made(a, in, nil)
			other := attach(ecOnce(), good)
			s[0].Bytes = other.Bytes
			_, s[0].Log = promise(logOnce(), logBody(good, other.Bytes, []byte(s[0].Certificate)), in)
			return s
		}(), "the key of its certificate did not make it"},
	} {
		signers, err := judge(t, members, files, &found{Attached: Attached{Signatures: tc.a}}, repository+":v1")
		expect(t, name, signers, err, "dev@example.com (https://login.example.com)", tc.want)
	}
}

func TestPKI(t *testing.T) {
	a, leaf := authorityOnce(), ec2Once()
	files := map[string][]byte{"roots": certificate(a.root.Raw), "middle": certificate(a.middle.Raw)}
	good := simple(repository, dImage)
	made := func(start time.Time, names ...string) []Attachment {
		out := attach(leaf, good)
		out.Certificate = string(certificate(a.issue(leaf, start, func(c *x509.Certificate) { c.DNSNames = names })))
		return []Attachment{out}
	}
	const both = `"pki":{"caRootsPath":"roots","caIntermediatesPath":"middle",`
	for name, tc := range map[string]struct {
		members string
		a       []Attachment
		signer  string
		want    string
	}{
		"email":           {both + `"subjectEmail":"dev@example.com"}`, made(now), "dev@example.com", ""},
		"hostname":        {both + `"subjectHostname":"build.example.com"}`, made(now, "build.example.com"), "build.example.com", ""},
		"another email":   {both + `"subjectEmail":"ops@example.com"}`, made(now), "", `not for "ops@example.com"`},
		"another host":    {both + `"subjectHostname":"build.example.com"}`, made(now, "other.example.com"), "", "build.example.com"},
		"expired":         {both + `"subjectEmail":"dev@example.com"}`, made(day(-1)), "", "certificate has expired"},
		"no intermediate": {`"pki":{"caRootsPath":"roots","subjectEmail":"dev@example.com"}`, made(now), "", "unknown authority"},
		"no certificate":  {both + `"subjectEmail":"dev@example.com"}`, []Attachment{attach(leaf, good)}, "", "it has no certificate"},
	} {
		signers, err := judge(t, tc.members, files, &found{Attached: Attached{Signatures: tc.a}}, repository+":v1")
		expect(t, name, signers, err, tc.signer, tc.want)
	}
}

func TestBundles(t *testing.T) {
	key, a, leaf := ecOnce(), authorityOnce(), ec2Once()
	files := map[string][]byte{"key": publicKey(key), "ca": certificate(a.root.Raw, a.middle.Raw), "log": publicKey(logOnce())}
	byDigest := repository + "@" + dImage.String()
	for name, tc := range map[string]struct {
		image  string
		bundle []byte
		want   string
	}{
		"good":             {byDigest, bundle(key, dImage, nil), ""},
		"Ed25519":          {byDigest, bundle(edOnce(), dImage, nil), "no key of the policy matches"},
		"by tag":           {repository + ":v1", bundle(key, dImage, nil), "it names only the digest"},
		"another key":      {byDigest, bundle(leaf, dImage, nil), "no key of the policy matches"},
		"another image":    {byDigest, bundle(key, digest.FromString("x"), nil), "it signs another image"},
		"an older version": {byDigest, bundle(key, dImage, func(b map[string]any) { b["mediaType"] = "application/vnd.dev.sigstore.bundle+json;version=0.2" }), ""},
		"a later version":  {byDigest, bundle(key, dImage, func(b map[string]any) { b["mediaType"] = "application/vnd.dev.sigstore.bundle.v0.9+json" }), "is not supported"},
		"no envelope":      {byDigest, bundle(key, dImage, func(b map[string]any) { delete(b, "dsseEnvelope") }), "needs either"},
		"the manifest":     {byDigest, message(key, []byte(manifest)), ""},
		"another manifest": {byDigest, message(key, []byte(manifest+" ")), "no key of the policy matches"},
		"a changed payload": {byDigest, bundle(key, dImage, func(b map[string]any) {
			b["dsseEnvelope"].(map[string]any)["payload"] = []byte(`{"predicateType":"https://sigstore.dev/cosign/sign/v1"}`)
		}), "no key of the policy matches"},
		"an attestation":    {byDigest, envelope(key, []byte(`{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":"`+dImage.Encoded()+`"}}],"predicateType":"https://slsa.dev/provenance/v1"}`), nil), "there is none"},
		"with its name":     {repository + ":v1", envelope(key, []byte(`{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"quay.io/org/app","digest":{"sha256":"`+dImage.Encoded()+`"}}],"predicateType":"https://sigstore.dev/cosign/sign/v1"}`), nil), ""},
		"with another name": {byDigest, envelope(key, []byte(`{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"quay.io/org/b","digest":{"sha256":"`+dImage.Encoded()+`"}}],"predicateType":"https://sigstore.dev/cosign/sign/v1"}`), nil), `it names "quay.io/org/b"`},
		"not JSON":          {byDigest, []byte("<html>"), "reading the bundle"},
	} {
		signers, err := judge(t, `"keyPath":"key"`, files, &found{Attached: Attached{Bundles: [][]byte{tc.bundle}}}, tc.image)
		expect(t, name, signers, err, keyName(key), tc.want)
	}

	const fulcio = `"fulcio":{"caPath":"ca","oidcIssuer":"https://login.example.com","subjectEmail":"dev@example.com"},"rekorPublicKeyPath":"log"`
	cert := a.issue(leaf, now, nil)
	logged := func(at time.Time, promised bool) []byte {
		return bundle(leaf, dImage, func(b map[string]any) {
			e := b["dsseEnvelope"].(map[string]any)
			sig := e["signatures"].([]any)[0].(map[string]any)["sig"].([]byte)
			body := fmt.Appendf(nil, `{"apiVersion":"0.0.1","kind":"dsse","spec":{"payloadHash":{"algorithm":"sha256","value":%q},"signatures":[{"signature":%q,"verifier":%q}]}}`,
				digest.FromBytes(e["payload"].([]byte)).Encoded(), base64.StdEncoding.EncodeToString(sig), base64.StdEncoding.EncodeToString(certificate(cert)))
			timestamp, _ := promise(logOnce(), body, at)
			entry := map[string]any{"logIndex": "7", "logId": map[string]any{"keyId": []byte{0xc0, 0xd2}}, "integratedTime": fmt.Sprint(at.Unix()), "canonicalizedBody": body}
			if promised {
				entry["inclusionPromise"] = map[string]any{"signedEntryTimestamp": timestamp}
			}
			b["verificationMaterial"] = map[string]any{"certificate": map[string]any{"rawBytes": cert}, "tlogEntries": []any{entry}}
		})
	}
	for name, tc := range map[string]struct {
		bundle []byte
		want   string
	}{
		"fulcio":             {logged(now.Add(time.Minute), true), ""},
		"fulcio, too late":   {logged(now.Add(time.Hour), true), "certificate has expired"},
		"fulcio, no promise": {logged(now.Add(time.Minute), false), "no signed timestamp"},
		"fulcio, no log":     {bundle(leaf, dImage, nil), "it was not logged"},
	} {
		signers, err := judge(t, fulcio, files, &found{Attached: Attached{Bundles: [][]byte{tc.bundle}}}, byDigest)
		expect(t, name, signers, err, "dev@example.com (https://login.example.com)", tc.want)
	}
}

// message returns a bundle that signs content itself.
func message(key crypto.Signer, content []byte) []byte {
	return must(json.Marshal(map[string]any{
		"mediaType":            "application/vnd.dev.sigstore.bundle.v0.3+json",
		"verificationMaterial": map[string]any{"publicKey": map[string]any{}},
		"messageSignature":     map[string]any{"messageDigest": map[string]any{"algorithm": "SHA2_256"}, "signature": sign(key, content)},
	}))
}

// TestSeveralRequirements: all requirements of a scope have to be satisfied.
func TestSeveralRequirements(t *testing.T) {
	files := map[string][]byte{"a": publicKey(ecOnce()), "b": publicKey(rsaOnce())}
	p := parse(t, docker("quay.io", `{"type":"sigstoreSigned","keyPath":"a","signedIdentity":{"type":"matchRepository"}},{"type":"insecureAcceptAnything"},{"type":"sigstoreSigned","keyPath":"b","signedIdentity":{"type":"matchRepository"}}`), files)
	ref, _ := reference.Parse(repository + ":v1")
	f := &found{}
	v := Verifier{Policy: p, Finder: f}
	f.Signatures = []Attachment{attach(ecOnce(), simple(repository, dImage))}
	signers, err := v.Verify(t.Context(), Image{Reference: ref, Digest: dImage})
	expect(t, "one of two", signers, err, "", "no key of the policy matches")
	f.Signatures = append(f.Signatures, attach(rsaOnce(), simple(repository, dImage)))
	if signers, err := v.Verify(t.Context(), Image{Reference: ref, Digest: dImage}); err != nil || len(signers) != 2 || signers[1].Name != keyName(rsaOnce()) {
		t.Errorf("%+v, %v", signers, err)
	}
}

// TestKeyless: requirements with fulcio are left to another program, and only those.
func TestKeyless(t *testing.T) {
	files := map[string][]byte{"key": publicKey(ecOnce())}
	p := parse(t, docker("quay.io", `{"type":"sigstoreSigned","fulcio":{"caPath":"absent","oidcIssuer":"https://i","subjectEmail":"me"},"rekorPublicKeyPath":"absent"}`), files)
	ref, _ := reference.Parse(repository + ":v1")
	var asked string
	v := Verifier{Policy: p, Finder: &found{}, Keyless: func(_ context.Context, img Image, email, issuer string) error {
		asked = img.String() + " " + email + " " + issuer
		return nil
	}}
	signers, err := v.Verify(t.Context(), Image{Reference: ref, Digest: dImage})
	if err != nil || len(signers) != 1 || signers[0].Name != "me (https://i)" || asked != repository+"@"+dImage.String()+" me https://i" {
		t.Errorf("%+v, %v, asked %s", signers, err, asked)
	}
}
