package main

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// storeOnly is a configuration of one image.
const storeOnly = "  additionalImages: [{name: 'images.example.net/lantern/store:1.2'}]\n"

// sshKey writes a key and its public key to the fixture's folder. If passphrase is not "", the key is
// encrypted.
func (w *fixture) sshKey(name, passphrase string) (key crypto.PrivateKey, file, fingerprint string) {
	w.t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, name)
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(private, name, []byte(passphrase))
	}
	if err != nil {
		w.t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		w.t.Fatal(err)
	}
	public := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
	w.write(name+".pub", public+" "+name+"@example.com\n")
	return private, w.write(name, string(pem.EncodeToMemory(block))), ssh.FingerprintSHA256(signer.PublicKey())
}

// allowed returns a line of an allowed_signers file for a key of the fixture.
func (w *fixture) allowed(name, options string) string {
	w.t.Helper()
	text, err := os.ReadFile(w.path(name + ".pub"))
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimSpace(name+"@example.com "+options) + " " + string(text)
}

// untouched checks that nothing was sent to the mirror.
func (w *fixture) untouched(what string) {
	w.t.Helper()
	for request, n := range w.mirror.Requests() {
		w.t.Errorf("%s: the mirror was sent %d times %s", what, n, request)
	}
}

// TestSignedDiskOutput checks what is printed about a signed archive, and verifies its signature with ssh-keygen.
func TestSignedDiskOutput(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	_, ops, fingerprint := w.sshKey("ops", "")
	_, mallory, _ := w.sshKey("mallory", "")
	small, disk := w.config("small.yaml", storeOnly), "file://"+w.path("disk")
	w.says(w.must("mirror", "-c", small, disk, "--sign-key", ops).stderr, fingerprint)
	allowed := w.write("allowed_signers", "# who writes disks\n"+w.allowed("ops", `namespaces="gantry"`))
	signed := "The archive is signed by ops@example.com with the ssh-ed25519 key " + fingerprint
	w.says(w.must("verify", disk, "--verify-key", ops+".pub").stdout, signed)
	w.says(w.must("verify", disk, "--allowed-signers", allowed, "--signer", "ops@example.com").stdout, signed)
	w.says(w.must("verify", disk).stdout, fingerprint, "--verify-key")
	var result struct {
		Signature struct{ Trusted bool }
	}
	o := w.must("verify", disk, "--allowed-signers", allowed, "--output", "json")
	if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || !result.Signature.Trusted {
		t.Errorf("%v, %s", err, o.stdout)
	}
	w.refuse(exitMismatch, []string{"it is not a trusted key", "gantry-000001.json.sig", fingerprint}, "mirror", "--from", disk, w.docker("/a"), "--verify-key", mallory+".pub")
	plain := "file://" + w.path("plain")
	w.must("mirror", "-c", small, plain, "--full")
	w.refuse(exitMismatch, []string{"not signed", "--sign-key"}, "mirror", "--from", plain, w.docker("/a"), "--verify-key", ops+".pub")

	// The site's keys are in its configuration.
	w.env["HOME"] = t.TempDir()
	conf := filepath.Join(w.env["HOME"], ".config", "gantry")
	if err := errors.Join(os.MkdirAll(conf, 0o700), os.WriteFile(filepath.Join(conf, "allowed_signers"), []byte(w.allowed("ops", "")), 0o600)); err != nil {
		t.Fatal(err)
	}
	w.refuse(exitMismatch, []string{"not signed", "--require-signature=false"}, "mirror", "--from", plain, w.docker("/a"))
	w.untouched("what the site does not take")
	w.says(w.must("mirror", "--from", disk, w.docker("/a")).stderr, "signed by ops@example.com")
	w.must("mirror", "--from", plain, w.docker("/b"), "--require-signature=false")
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		return
	}
	manifest, err := os.Open(w.path("disk/gantry-000001.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer manifest.Close()
	cmd := exec.CommandContext(t.Context(), "ssh-keygen", "-Y", "verify", "-f", allowed, "-I", "ops@example.com", "-n", "gantry", "-s", w.path("disk/gantry-000001.json.sig"))
	cmd.Stdin = manifest
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("ssh-keygen refuses it: %s", out)
	}
}

// TestSigningKeys signs with encrypted keys and with an agent.
func TestSigningKeys(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	small := w.config("small.yaml", storeOnly)
	private, locked, _ := w.sshKey("locked", "secret")
	disk := func(name string) []string {
		return []string{"mirror", "-c", small, "file://" + w.path(name), "--sign-key"}
	}
	secret, wrong := w.write("secret", "secret\n"), w.write("wrong", "Secret\n")
	w.refuse(exitUsage, []string{"encrypted", "no terminal", "--sign-passphrase-file"}, append(disk("a"), locked)...)
	w.refuse(exitUsage, []string{"the passphrase is wrong"}, append(disk("a"), locked, "--sign-passphrase-file", wrong)...)
	w.refuse(exitUsage, []string{"no such file"}, append(disk("a"), locked, "--sign-passphrase-file", w.path("none"))...)
	w.refuse(exitUsage, []string{"SSH_AUTH_SOCK"}, append(disk("a"), locked+".pub")...)
	if _, err := os.Stat(w.path("a")); err == nil {
		t.Error("the folder was created, although signing failed")
	}
	w.must(append(disk("a"), locked, "--sign-passphrase-file", secret)...)
	w.must("verify", "file://"+w.path("a"), "--verify-key", locked+".pub")

	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: private}); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "agent") //nolint:usetesting // a socket's path has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = agent.ServeAgent(ring, conn) }() // ends with the connection
		}
	}()
	w.env["SSH_AUTH_SOCK"] = l.Addr().String()
	w.must(append(disk("b"), locked)...)
	w.must(append(disk("c"), locked+".pub")...)
	w.must("verify", "file://"+w.path("c"), "--verify-key", locked+".pub")
}

// TestSignatureFlags checks that signature flags that contradict each other or have no effect are
// refused.
func TestSignatureFlags(t *testing.T) {
	t.Parallel()
	w := &fixture{t: t, dir: t.TempDir()}
	w.surroundings("", "")
	_, key, _ := w.sshKey("ops", "")
	isc := w.config("imageset.yaml", storeOnly)
	disk, registry := "file://"+w.path("disk"), "docker://registry.invalid"
	allowed := w.write("allowed", w.allowed("ops", ""))
	for _, tc := range []struct {
		words string
		args  []string
	}{
		{"--sign-key is for file://", []string{"mirror", "-c", isc, registry, "--sign-key", key}},
		{"is for --sign-key", []string{"mirror", "-c", isc, disk, "--sign-passphrase-file", key}},
		{"--verify-key is for reading an archive", []string{"mirror", "-c", isc, disk, "--verify-key", key + ".pub"}},
		{"--require-signature is for reading an archive", []string{"mirror", "-c", isc, registry, "--require-signature=false"}},
		{"--signer is for reading an archive", []string{"verify", "-c", isc, registry, "--signer", "ops"}},
		{"no trusted keys are known", []string{"mirror", "--from", disk, registry, "--require-signature"}},
		{"no trusted keys are known", []string{"mirror", "--from", disk, registry, "--signer", "ops"}},
		{"--verify-key and --allowed-signers", []string{"mirror", "--from", disk, registry, "--verify-key", key + ".pub", "--allowed-signers", allowed}},
		{"keys of --verify-key have no names", []string{"verify", disk, "--verify-key", key + ".pub", "--signer", "ops"}},
		{"ends in .pub", []string{"verify", disk, "--verify-key", key}},
		{"no such file", []string{"verify", disk, "--allowed-signers", w.path("none")}},
		{"line 1", []string{"verify", disk, "--allowed-signers", key + ".pub"}},
		{"no such file", []string{"mirror", "-c", isc, disk, "--sign-key", w.path("none")}},
		{"not a usable private key", []string{"mirror", "-c", isc, disk, "--sign-key", isc}},
		{"--sign-key is empty", []string{"mirror", "-c", isc, disk, "--sign-key", ""}},
		{"--allowed-signers is empty", []string{"mirror", "--from", disk, registry, "--allowed-signers", ""}},
		{"--signer is empty", []string{"verify", disk, "--allowed-signers", allowed, "--signer", ""}},
	} {
		w.refuse(exitUsage, []string{tc.words}, tc.args...)
	}
	w.refuseLook(exitUsage, []string{"--htpasswd is empty"}, "serve", disk, "--htpasswd", "")
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	w.refuse(exitUsage, []string{"chmod 600"}, "mirror", "-c", isc, disk, "--sign-key", key)
}

// TestPromptPassphrase checks the prompt for a passphrase.
func TestPromptPassphrase(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{"s3cret\r": "s3cret", "s3 \u00e9\r": "s3 \u00e9", "\r": "", "s3\x03": "interrupted", "\x04": "interrupted"} {
		rw := &terminal{Reader: strings.NewReader(typed)}
		text, err := promptPassphrase(rw, "/home/me/key")
		if want == "interrupted" {
			if !errors.Is(err, errInterrupted) {
				t.Errorf("%q: %v", typed, err)
			}
		} else if err != nil || string(text) != want {
			t.Errorf("%q: %q, %v", typed, text, err)
		}
		if screen := rw.screen.String(); strings.Contains(screen, "s3") || !strings.Contains(screen, "/home/me/key") {
			t.Errorf("%q: the screen shows %q", typed, screen)
		}
	}
}
