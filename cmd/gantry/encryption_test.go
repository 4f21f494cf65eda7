package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// ageKey writes an identity to the fixture's folder and returns its recipient.
func (w *fixture) ageKey(name, passphrase string) (file, recipient string) {
	w.t.Helper()
	return w.site().AgeKey(name, passphrase)
}

// TestEncryptionOutput checks what is printed about encrypted archives, and the flags for keys.
func TestEncryptionOutput(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	small, disk := w.config("small.yaml", storeOnly), "file://"+w.path("disk")
	site, recipient := w.ageKey("site", "")
	other, _ := w.ageKey("other", "")
	locked, lockedTo := w.ageKey("locked", "secret")
	w.says(w.must("mirror", "-c", small, disk, "--encrypt-to", recipient, "--encrypt-to", lockedTo).stderr, "encrypted to 2 recipients")
	w.says(w.must("verify", disk).stdout, "is intact", "every byte verified", "It is encrypted: its images are unknown without --identity")
	w.says(w.looked(exitOK, "archive", "list", disk, "--identity", locked, "--identity-passphrase-file", w.write("secret", "secret\n")).stdout, "lantern/store")
	w.refuse(exitUsage, []string{"is encrypted, to 2 recipients (X25519, X25519)", "no identity", "; give the identity of a recipient with --identity"}, "mirror", "--from", disk, w.docker("/a"))
	w.refuseLook(exitUsage, []string{"none of 1 identity opens gantry-000001.json", "--encrypt-to"}, "serve", disk, "--identity", other)
	w.refuse(exitUsage, []string{"is encrypted, and there is no terminal", "--identity-passphrase-file"}, "mirror", "--from", disk, w.docker("/a"), "--identity", locked)
	w.refuse(exitUsage, []string{"the passphrase is wrong"}, "mirror", "--from", disk, w.docker("/a"), "--identity", locked, "--identity-passphrase-file", w.write("wrong", "Secret\n"))
	w.untouched("without the right identity")
	w.must("mirror", "--from", disk, w.docker("/a"), "--identity", other, "--identity", site)

	w.refuse(exitUsage, []string{"--encrypt-to", "no such file", "use age1..."}, "mirror", "-c", small, disk, "--encrypt-to", "nobody")
	w.refuse(exitUsage, []string{"--encrypt-to is for file:// destinations"}, "mirror", "-c", small, w.docker(""), "--encrypt-to", recipient)
	w.refuse(exitUsage, []string{"--identity is for reading an archive"}, "mirror", "-c", small, disk, "--identity", site)
	w.refuse(exitUsage, []string{"--identity-passphrase-file is for --identity"}, "verify", disk, "--identity-passphrase-file", site)
}

// TestEncryptedWithAge opens an archive with the commands in docs/archive-format.md, which use age
// and jq but not Gantry. It is skipped if a tool is not installed.
func TestEncryptedWithAge(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"age", "jq", "sh", "tar", "sha256sum"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	docs, err := os.ReadFile("../../docs/archive-format.md")
	fail.On(t, err)
	_, script, _ := strings.Cut(string(docs), "```sh\njq -r .encryption.key")
	script, _, ok := strings.Cut("jq -r .encryption.key"+script, "```")
	if !ok {
		t.Fatal("the chapter has no such commands")
	}
	w := newFixture(t, registrytest.Options{})
	_, recipient := w.ageKey("identity.txt", "")
	w.must("mirror", "-c", w.path("imageset.yaml"), "file://"+w.path("disk"), "--encrypt-to", recipient, "--volume-size", "0.15MB")
	w.must("mirror", "-c", w.path("imageset.yaml"), "file://"+w.path("plain"), "--full")
	fail.On(t, os.Rename(w.path("identity.txt"), w.path("disk/identity.txt")))
	sh := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
	sh.Dir = w.path("disk")
	if out, err := sh.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.looked(exitOK, "archive", "extract", "file://"+w.path("plain"), "--to", w.path("want"))
	for name, want := range w.tree("want") {
		if strings.HasPrefix(name, "blobs/") && w.read("disk/out/"+name) != want {
			t.Errorf("%s differs", name)
		}
	}
}
