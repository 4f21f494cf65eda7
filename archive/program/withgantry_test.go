package program

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
)

// TestAddProgram checks that the program and its checksum are written once, replaced when the program is
// another one, and that damage is found.
func TestAddProgram(t *testing.T) {
	path, dir := filepath.Join(t.TempDir(), "gantry-dev"), filepath.Join(t.TempDir(), "disk")
	write := func(path, text string) {
		fail.On(t, os.WriteFile(path, []byte(text), 0o700))
	}
	for _, text := range []string{"version 1", "version 2", "version 2"} {
		write(path, text)
		added, err := Add(t.Context(), path, dir, nil)
		if err != nil || added.File != "gantry" {
			t.Fatalf("%+v, %v", added, err)
		}
		got, err := os.ReadFile(filepath.Join(dir, "gantry"))
		if err != nil || string(got) != text {
			t.Errorf("it has %q, %v; want %q", got, err, text)
		}
		if all, err := Verify(t.Context(), []string{dir}, nil); err != nil || len(all) != 1 || all[0].SHA256 != added.SHA256 {
			t.Errorf("verified %+v, %v", all, err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "gantry"))
	if err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("it is no program: %v, %v", info, err)
	}
	sum := filepath.Join(dir, "gantry.sha256")
	text, err := os.ReadFile(sum)
	if err != nil || !strings.HasSuffix(string(text), "  gantry\n") {
		t.Errorf("the checksum is %q, %v", text, err)
	}
	write(filepath.Join(dir, "gantry"), "version 3")
	if _, err := Verify(t.Context(), []string{dir}, nil); advice.KindOf(err) != advice.Mismatch {
		t.Errorf("another program: %v", err)
	}
	if _, err := Add(t.Context(), path, dir, nil); err != nil { // writes it again
		t.Errorf("a damaged program: %v", err)
	}
	fail.On(t, os.Remove(filepath.Join(dir, "gantry")))
	if _, err := Verify(t.Context(), []string{dir}, nil); advice.KindOf(err) != advice.Mismatch {
		t.Errorf("a missing program: %v", err)
	}
	fail.On(t, os.Remove(sum))
	if all, err := Verify(t.Context(), []string{dir}, nil); err != nil || len(all) != 0 {
		t.Errorf("no program: %v, %v", all, err)
	}
	if _, err := Add(t.Context(), filepath.Join(dir, "none"), dir, nil); advice.KindOf(err) != advice.Input {
		t.Errorf("a program that does not exist: %v", err)
	}
}

// TestSignProgram checks that the checksum of the program is signed once, and that signatures which are not of it
// are refused.
func TestSignProgram(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(t.TempDir(), "gantry-dev")
	fail.On(t, os.WriteFile(path, []byte("version 1"), 0o700))
	key, public := newSigningKey(t)
	other, _ := newSigningKey(t)
	trusted, err := sshsig.ParsePublicKeys(public)
	fail.On(t, err)
	policy := &sshsig.Policy{Signers: trusted, Required: true, Now: time.Now()}
	verdict := func() *sshsig.Verdict {
		t.Helper()
		all, err := Verify(t.Context(), []string{dir}, policy)
		if err != nil || len(all) != 1 {
			t.Fatalf("%+v, %v", all, err)
		}
		return all[0].Signature
	}
	add := func(key *sshsig.Key) string {
		t.Helper()
		_, err := Add(t.Context(), path, dir, key)
		fail.On(t, err)
		text, _ := os.ReadFile(filepath.Join(dir, "gantry.sha256.sig"))
		return string(text)
	}
	add(nil)
	if v := verdict(); v != nil {
		t.Errorf("without a key, it is signed by %s", v)
	}
	signed := add(key) // of the program that is there
	if v := verdict(); v == nil || !v.Trusted || v.Key != key.Signer().Key {
		t.Errorf("it is signed by %v", v)
	}
	if again := add(key); again != signed {
		t.Error("it was signed again")
	}
	add(other)
	if _, err := Verify(t.Context(), []string{dir}, policy); advice.KindOf(err) != advice.Mismatch || !strings.Contains(err.Error(), "gantry.sha256.sig") {
		t.Errorf("the key of someone else: %v", err)
	}
	fail.On(t, os.WriteFile(path, []byte("version 2"), 0o700))
	add(nil)
	if v := verdict(); v != nil {
		t.Errorf("the signature of the older program is still there: %v", v)
	}
	add(key)
	fail.On(t, os.WriteFile(filepath.Join(dir, "gantry.sha256.sig"), []byte(signed), 0o644))
	if _, err := Verify(t.Context(), []string{dir}, policy); advice.KindOf(err) != advice.Mismatch {
		t.Errorf("the signature of another program: %v", err)
	}
}

// newSigningKey returns an SSH key, and its public key as text.
func newSigningKey(t *testing.T) (*sshsig.Key, []byte) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	fail.On(t, err)
	block, err := ssh.MarshalPrivateKey(private, "")
	fail.On(t, err)
	file := filepath.Join(t.TempDir(), "key")
	fail.On(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	key, err := sshsig.OpenKey(t.Context(), file, sshsig.KeyOptions{})
	fail.On(t, err)
	sshPublic, err := ssh.NewPublicKey(public)
	fail.On(t, err)
	return key, ssh.MarshalAuthorizedKey(sshPublic)
}
