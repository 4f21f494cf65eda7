package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// storeOnly is a configuration of one image.
const storeOnly = "  additionalImages: [{name: 'images.example.net/lantern/store:1.2'}]\n"

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
	ops, fingerprint := w.site().SSHKey("ops", "")
	mallory, _ := w.site().SSHKey("mallory", "")
	small, disk := w.config("small.yaml", storeOnly), "file://"+w.path("disk")
	w.says(w.must("mirror", "-c", small, disk, "--sign-key", ops).stderr, fingerprint)
	allowed := w.write("allowed_signers", "# who writes disks\n"+w.site().Allowed("ops", `namespaces="gantry"`))
	signed := "The archive is signed by ops@example.com with the ssh-ed25519 key " + fingerprint
	w.says(w.must("verify", disk, "--verify-key", ops+".pub").stdout, signed)
	w.says(w.must("verify", disk, "--allowed-signers", allowed, "--signer", "ops@example.com").stdout, signed)
	w.says(w.must("verify", disk).stdout, fingerprint, "--verify-key")
	w.refuse(exitMismatch, []string{"it is not a trusted key", "gantry-000001.json.sig", fingerprint}, "mirror", "--from", disk, w.docker("/a"), "--verify-key", mallory+".pub")
	plain := "file://" + w.path("plain")
	w.must("mirror", "-c", small, plain, "--full")
	w.refuse(exitMismatch, []string{"not signed", "--sign-key"}, "mirror", "--from", plain, w.docker("/a"), "--verify-key", ops+".pub")

	// The site's keys are in its configuration.
	w.env["HOME"] = t.TempDir()
	conf := filepath.Join(w.env["HOME"], ".config", "gantry")
	fail.On(t, errors.Join(os.MkdirAll(conf, 0o700), os.WriteFile(filepath.Join(conf, "allowed_signers"), []byte(w.site().Allowed("ops", "")), 0o600)))
	w.refuse(exitMismatch, []string{"not signed", "--require-signature=false"}, "mirror", "--from", plain, w.docker("/a"))
	w.untouched("what the site does not take")
	w.says(w.must("mirror", "--from", disk, w.docker("/a")).stderr, "signed by ops@example.com")
	w.must("mirror", "--from", plain, w.docker("/b"), "--require-signature=false")
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		return
	}
	manifest, err := os.Open(w.path("disk/gantry-000001.json"))
	fail.On(t, err)
	defer manifest.Close()
	cmd := exec.CommandContext(t.Context(), "ssh-keygen", "-Y", "verify", "-f", allowed, "-I", "ops@example.com", "-n", "gantry", "-s", w.path("disk/gantry-000001.json.sig"))
	cmd.Stdin = manifest
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("ssh-keygen refuses it: %s", out)
	}
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
