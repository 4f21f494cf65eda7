package mirrortest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"io"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"
	"golang.org/x/crypto/ssh"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
	"github.com/gantry-mirror/gantry/pkg/site/keys"
)

// SSHKey writes a key and its public key, NAME.pub, to the folder. If passphrase is not "", the key is encrypted.
func (s *Site) SSHKey(name, passphrase string) (file, fingerprint string) {
	s.T.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	fail.On(s.T, err)
	block, err := ssh.MarshalPrivateKey(private, name)
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(private, name, []byte(passphrase))
	}
	fail.On(s.T, err)
	signer, err := ssh.NewSignerFromKey(private)
	fail.On(s.T, err)
	public := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
	s.Write(name+".pub", public+" "+name+"@example.com\n")
	return s.Write(name, string(pem.EncodeToMemory(block))), ssh.FingerprintSHA256(signer.PublicKey())
}

// Allowed returns a line of an allowed_signers file for a key of SSHKey.
func (s *Site) Allowed(name, options string) string {
	s.T.Helper()
	return strings.TrimSpace(name+"@example.com "+options) + " " + s.Read(name+".pub")
}

// Key opens a key of SSHKey.
func (s *Site) Key(file string) *sshsig.Key {
	s.T.Helper()
	key, err := sshsig.OpenKey(s.T.Context(), file, sshsig.KeyOptions{})
	fail.On(s.T, err)
	return key
}

// SignedWith signs the archive or the receipt of a run with a key of SSHKey.
func (s *Site) SignedWith(file string) func(*mirroring.Options) {
	return func(o *mirroring.Options) { o.SigningKey = s.Key(file) }
}

// Policy returns the policy that accepts only what a key of SSHKey signed.
func (s *Site) Policy(file string) *sshsig.Policy {
	s.T.Helper()
	p, err := keys.SigningPolicy(s.Env, keys.ArchiveTrust{VerifyKey: []string{file + ".pub"}})
	fail.On(s.T, err)
	return p
}

// AgeKey writes an identity to the folder and returns its recipient. If passphrase is not "", the identity is encrypted.
func (s *Site) AgeKey(name, passphrase string) (file, recipient string) {
	s.T.Helper()
	id, err := age.GenerateX25519Identity()
	fail.On(s.T, err)
	text := "# made for a test\n" + id.String() + "\n"
	if passphrase != "" {
		var out bytes.Buffer
		armored := armor.NewWriter(&out)
		to, err := age.NewScryptRecipient(passphrase)
		fail.On(s.T, err)
		to.SetWorkFactor(10)
		in, err := age.Encrypt(armored, to)
		if err == nil {
			_, err = io.WriteString(in, text)
		}
		if err != nil || in.Close() != nil || armored.Close() != nil {
			s.T.Fatalf("the identity was not encrypted: %v", err)
		}
		text = out.String()
	}
	return s.Write(name, text), id.Recipient().String()
}

// Encryption returns the encryption of an archive to recipients.
func (s *Site) Encryption(recipients ...string) *archive.Encryption {
	s.T.Helper()
	e, err := keys.NewEncryption(recipients)
	fail.On(s.T, err)
	return e
}

// EncryptedTo encrypts the archive of a run.
func (s *Site) EncryptedTo(recipients ...string) func(*mirroring.Options) {
	return func(o *mirroring.Options) { o.EncryptTo = s.Encryption(recipients...) }
}

// Identities reads an identity of AgeKey without a passphrase.
func (s *Site) Identities(file string) []age.Identity {
	s.T.Helper()
	all, err := keys.ReadIdentities(s.Env, []string{file}, nil)
	fail.On(s.T, err)
	return all
}
