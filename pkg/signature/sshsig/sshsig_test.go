package sshsig

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

const namespace = "gantry"

// kinds are the kinds of keys.
var kinds = []string{"ed25519", "ecdsa256", "ecdsa521", "rsa"}

// makeKey returns a new key of a kind.
func makeKey(t testing.TB, kind string) crypto.PrivateKey {
	t.Helper()
	var key crypto.PrivateKey
	var err error
	switch kind {
	case "ed25519":
		_, key, err = ed25519.GenerateKey(rand.Reader)
	case "ecdsa256":
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "ecdsa521":
		key, err = ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	default:
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	fail.On(t, err)
	return key
}

// write writes a file that only its owner can read to a new folder.
func write(t testing.TB, name string, text []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	fail.On(t, os.WriteFile(file, text, 0o600))
	return file
}

// writeKey writes a private key, encrypted if passphrase is not "", and its public key next to it.
func writeKey(t testing.TB, key crypto.PrivateKey, passphrase string) (file string, public []byte) {
	t.Helper()
	var block *pem.Block
	var err error
	if passphrase == "" {
		block, err = ssh.MarshalPrivateKey(key, "comment")
	} else {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "comment", []byte(passphrase))
	}
	fail.On(t, err)
	signer, err := ssh.NewSignerFromKey(key)
	fail.On(t, err)
	file = write(t, "key", pem.EncodeToMemory(block))
	public = ssh.MarshalAuthorizedKey(signer.PublicKey())
	fail.On(t, os.WriteFile(file+".pub", public, 0o600))
	return file, public
}

func open(t testing.TB, file string, opts KeyOptions) *Key {
	t.Helper()
	k, err := OpenKey(t.Context(), file, opts)
	fail.On(t, err)
	return k
}

func sign(t testing.TB, k *Key, message string) []byte {
	t.Helper()
	text, err := k.Sign(t.Context(), namespace, strings.NewReader(message))
	fail.On(t, err)
	return text
}

// keygen runs ssh-keygen. If it is not installed, the test is skipped.
func keygen(t testing.TB, stdin string, args ...string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("ssh-keygen is not installed")
	}
	cmd := exec.CommandContext(t.Context(), "ssh-keygen", args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestSignLikeKeygen signs with keys of each kind, and checks that ssh-keygen accepts signatures
// made by Gantry and vice versa.
func TestSignLikeKeygen(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			file, public := writeKey(t, makeKey(t, kind), "")
			allowed := write(t, "allowed_signers", append([]byte(`ops@example.com namespaces="gantry,file" `), public...))
			ours := write(t, "ours.sig", sign(t, open(t, file, KeyOptions{}), "content"))
			verify := func(content string) (string, error) {
				return keygen(t, content, "-Y", "verify", "-f", allowed, "-I", "ops@example.com", "-n", namespace, "-s", ours)
			}
			if out, err := verify("content"); err != nil {
				t.Errorf("ssh-keygen refuses a signature made by Gantry: %s", out)
			}
			if out, err := verify("other content"); err == nil {
				t.Errorf("ssh-keygen accepts a signature for other content: %s", out)
			}
			text, err := os.ReadFile(allowed)
			fail.On(t, err)
			signers, err := ParseAllowedSigners(text, time.UTC)
			fail.On(t, err)
			for _, hash := range []string{"sha512", "sha256"} {
				theirs := write(t, "content", []byte("content"))
				if out, err := keygen(t, "", "-Y", "sign", "-f", file, "-n", namespace, "-O", "hashalg="+hash, theirs); err != nil {
					t.Fatal(out)
				}
				armored, err := os.ReadFile(theirs + ".sig")
				fail.On(t, err)
				who, err := signers.Verify(armored, namespace, strings.NewReader("content"), "ops@example.com", time.Now())
				if err != nil || who.Principal != "ops@example.com" || !strings.Contains(string(public), who.Type) {
					t.Errorf("what ssh-keygen signed with %s is by %v: %v", hash, who, err)
				}
				s, err := Parse(armored)
				fail.On(t, err)
				if got := s.Armor(); !bytes.Equal(got, armored) {
					t.Errorf("written again, ssh-keygen's signature is\n%s, it was\n%s", got, armored)
				}
			}
		})
	}
}

// TestSecurityKey verifies signatures in the format of security keys.
func TestSecurityKey(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	fail.On(t, err)
	raw := ssh.Marshal(struct {
		Type        string
		Key         []byte
		Application string
	}{ssh.KeyAlgoSKED25519, public, "ssh:"})
	key, err := ssh.ParsePublicKey(raw)
	fail.On(t, err)
	allowed := write(t, "allowed_signers", append([]byte("ops "), ssh.MarshalAuthorizedKey(key)...))
	signers, err := ParsePublicKeys(ssh.MarshalAuthorizedKey(key))
	fail.On(t, err)
	hash := func(text []byte) []byte { h := crypto.SHA256.New(); h.Write(text); return h.Sum(nil) }
	for flags, touched := range map[byte]bool{1: true, 0: false} {
		s := &Signature{Key: key, Namespace: namespace, Hash: "sha512"}
		text, err := s.text(strings.NewReader("content"))
		fail.On(t, err)
		tail := []byte{flags, 0, 0, 0, 7}
		s.signature = &ssh.Signature{
			Format: ssh.KeyAlgoSKED25519, Rest: tail,
			Blob: ed25519.Sign(private, bytes.Join([][]byte{hash([]byte("ssh:")), tail, hash(text)}, nil)),
		}
		if _, err := signers.Verify(s.Armor(), namespace, strings.NewReader("content"), "", time.Now()); (err == nil) != touched {
			t.Errorf("touched %v: %v", touched, err)
		}
		out, err := keygen(t, "content", "-Y", "verify", "-f", allowed, "-I", "ops", "-n", namespace, "-s", write(t, "sig", s.Armor()))
		if touched && err != nil {
			t.Errorf("ssh-keygen refuses it: %s", out)
		}
	}
}

// TestRefused checks that invalid signatures are refused.
func TestRefused(t *testing.T) {
	t.Parallel()
	file, public := writeKey(t, makeKey(t, "ed25519"), "")
	_, others := writeKey(t, makeKey(t, "ecdsa256"), "")
	key := open(t, file, KeyOptions{})
	good := string(sign(t, key, "content"))
	foreign, err := key.Sign(t.Context(), "file", strings.NewReader("content"))
	fail.On(t, err)
	weak, err := ssh.NewSignerFromKey(makeKey(t, "rsa"))
	fail.On(t, err)
	sha1 := &Signature{Key: weak.PublicKey(), Namespace: namespace, Hash: "sha512"}
	text, err := sha1.text(strings.NewReader("content"))
	fail.On(t, err)
	sha1.signature, err = weak.Sign(rand.Reader, text)
	fail.On(t, err)
	again := func(change func(s *Signature)) string {
		s, err := Parse([]byte(good))
		fail.On(t, err)
		change(s)
		return string(s.Armor())
	}
	for name, tc := range map[string]struct {
		text, trusted, message, want string
	}{
		"good":            {good, string(public), "content", ""},
		"space around":    {"\r\n" + strings.ReplaceAll(good, "\n", "\r\n") + "\n", string(public), "content", ""},
		"empty":           {"", string(public), "content", "not an SSH signature"},
		"garbage":         {"\x00\xff garbage", string(public), "content", "not an SSH signature"},
		"text before":     {"hello\n" + good, string(public), "content", "between the lines"},
		"text after":      {good + "hello\n", string(public), "content", "between the lines"},
		"two":             {good + good, string(public), "content", "not an SSH signature"},
		"no base64":       {begin + "\n???\n" + end + "\n", string(public), "content", "base64"},
		"cut short":       {good[:100] + "\n" + end + "\n", string(public), "content", "not an SSH signature"},
		"nothing in it":   {begin + "\n" + end + "\n", string(public), "content", "fields"},
		"huge":            {begin + strings.Repeat("A", MaxSize) + end, string(public), "content", "more than"},
		"altered content": {good, string(public), "content2", "did not sign this"},
		"other namespace": {string(foreign), string(public), "content", `namespace "file", not "gantry"`},
		"claimed purpose": {again(func(s *Signature) { s.Namespace = "file" }), string(public), "content", "namespace"},
		"no namespace":    {again(func(s *Signature) { s.Namespace = "" }), string(public), "content", "no namespace"},
		"claimed hash":    {again(func(s *Signature) { s.Hash = "sha256" }), string(public), "content", "did not sign this"},
		"unknown hash":    {again(func(s *Signature) { s.Hash = "md5" }), string(public), "content", `hash "md5"`},
		"another key":     {good, string(others), "content", "it is not a trusted key"},
		"another's name":  {again(func(s *Signature) { s.Key = weak.PublicKey() }), string(public), "content", "did not sign this"},
		"SHA-1 of RSA":    {string(sha1.Armor()), string(public), "content", "SHA-1"},
		"altered bytes":   {again(func(s *Signature) { s.signature.Blob[3] ^= 1 }), string(public), "content", "did not sign this"},
		"too many bytes":  {again(func(s *Signature) { s.signature.Blob = append(s.signature.Blob, 0) }), string(public), "content", "did not sign this"},
		"other algorithm": {again(func(s *Signature) { s.signature.Format = "ssh-rsa" }), string(public), "content", "SHA-1"},
		"rest after it":   {again(func(s *Signature) { s.signature.Rest = []byte{1} }), string(public), "content", "followed by something"},
	} {
		signers, err := ParsePublicKeys([]byte(tc.trusted))
		fail.On(t, err)
		_, err = signers.Verify([]byte(tc.text), namespace, strings.NewReader(tc.message), "", time.Now())
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
		// Without trusted keys the result is the same, except that an unknown key is accepted.
		_, err = Policy{}.Check(namespace, strings.NewReader(tc.message), []byte(tc.text))
		if (err == nil) != (tc.want == "" || name == "another key") {
			t.Errorf("%s, without trusted keys: %v", name, err)
		}
	}
}

// TestWeakKeys checks that weak keys are refused.
func TestWeakKeys(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ key, want string }{
		"small RSA":   {smallRSA, "1024 bits"},
		"DSA":         {dsaKey, "ssh-dss"},
		"other type":  {strings.Replace(edKey, "ssh-ed25519", "ssh-rsa", 1), "is one of type"},
		"cut short":   {edKey[:40], "short read"},
		"not at all":  {"hello", "base64"},
		"private key": {"-----BEGIN OPENSSH PRIVATE KEY-----\n", "ends in .pub"},
		"none":        {"# nobody\n\n", "no keys"},
		"second line": {edKey + "\nssh-ed25519 AAAA\n", "line 2"},
	} {
		if _, err := ParsePublicKeys([]byte(tc.key)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// TestCertificate checks that signatures with a certificate are refused, and certificates as keys
// too.
func TestCertificate(t *testing.T) {
	t.Parallel()
	authority, err := ssh.NewSignerFromKey(makeKey(t, "ecdsa256"))
	fail.On(t, err)
	holder, err := ssh.NewSignerFromKey(makeKey(t, "ed25519"))
	fail.On(t, err)
	cert := &ssh.Certificate{Key: holder.PublicKey(), CertType: ssh.UserCert, ValidPrincipals: []string{"ops"}, ValidBefore: ssh.CertTimeInfinity}
	fail.On(t, cert.SignCert(rand.Reader, authority))
	signer, err := ssh.NewCertSigner(cert, holder)
	fail.On(t, err)
	if _, err := Sign(signer, namespace, strings.NewReader("")); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("signing with a certificate: %v", err)
	}
	s := &Signature{Key: cert, Namespace: namespace, Hash: "sha512"}
	text, err := s.text(strings.NewReader(""))
	fail.On(t, err)
	s.signature, err = holder.Sign(rand.Reader, text)
	fail.On(t, err)
	if _, err := Parse(s.Armor()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate's signature: %v", err)
	}
}

// TestPolicy checks which policies accept content without a signature.
func TestPolicy(t *testing.T) {
	t.Parallel()
	signers, err := ParsePublicKeys([]byte(edKey))
	fail.On(t, err)
	for _, tc := range []struct {
		policy Policy
		want   error
	}{
		{Policy{}, nil}, {Policy{Signers: signers}, nil},
		{Policy{Signers: signers, Required: true}, ErrUnsigned}, {Policy{Required: true}, ErrNoSigners},
	} {
		if v, err := tc.policy.Check(namespace, nil, nil); err != tc.want || v.Signed || v.Trusted { //nolint:errorlint // not wrapped
			t.Errorf("%+v: %+v, %v", tc.policy, v, err)
		}
	}
}

func TestSignNeedsANamespace(t *testing.T) {
	t.Parallel()
	file, _ := writeKey(t, makeKey(t, "ed25519"), "")
	if _, err := open(t, file, KeyOptions{}).Sign(t.Context(), "", strings.NewReader("")); err == nil {
		t.Error("signed without a namespace")
	}
}

// TestUnreadable checks that a read error is distinguished from altered content.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	file, public := writeKey(t, makeKey(t, "ed25519"), "")
	k := open(t, file, KeyOptions{})
	armored := sign(t, k, "content")
	broken := errors.New("the disk is gone")
	if _, err := k.Sign(t.Context(), namespace, iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("signing: %v", err)
	}
	signers, err := ParsePublicKeys(public)
	fail.On(t, err)
	if _, err := signers.Verify(armored, namespace, iotest.ErrReader(broken), "", time.Now()); !errors.Is(err, broken) {
		t.Errorf("verifying: %v", err)
	}
}
