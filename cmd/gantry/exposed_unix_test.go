//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/gantry-mirror/gantry/pkg/site/keys"
)

// TestExposedSecrets checks that files with identities and passphrases that others can read are used,
// with a warning that names the file.
func TestExposedSecrets(t *testing.T) {
	t.Parallel()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string, mode os.FileMode) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	var stderr bytes.Buffer
	a := &app{stderr: &stderr}
	private := write("private.txt", key.String()+"\n", 0o600)
	if all, err := a.identities(&identityFlags{files: []string{private}}); err != nil || len(all) != 1 || stderr.Len() > 0 {
		t.Errorf("%d identities, %v, %q", len(all), err, &stderr)
	}
	shared := write("shared.txt", key.String()+"\n", 0o640)
	if all, err := a.identities(&identityFlags{files: []string{shared}}); err != nil || len(all) != 1 {
		t.Errorf("%d identities, %v", len(all), err)
	}
	passphrase := write("passphrase.txt", "open sesame\n", 0o644)
	if text, err := keys.ReadPassphrase(a.environment(&registryFlags{}), passphrase); err != nil || string(text) != "open sesame" {
		t.Errorf("%q, %v", text, err)
	}
	want := []string{"others can read " + shared + " (mode 0640), which has a secret: run chmod 600 on it", "others can read " + passphrase + " (mode 0644), which has a secret: run chmod 600 on it"}
	if got := strings.Split(strings.TrimSuffix(stderr.String(), "\n"), "\n"); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%q, want %q", got, want)
	}
	if strings.Contains(stderr.String(), "sesame") || strings.Contains(stderr.String(), "AGE-SECRET") {
		t.Error("a secret was printed")
	}
}
