package keys

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// maxKeys is the maximum size of a file with recipients or identities, in bytes.
const maxKeys = 1 << 20

// NewEncryption returns the encryption of an archive to age recipients: "age1...", or files with such
// lines, as with age -R. It returns nil if there are none.
func NewEncryption(recipients []string) (*archive.Encryption, error) {
	if len(recipients) == 0 {
		return nil, nil
	}
	e := &archive.Encryption{}
	for _, to := range recipients {
		all, err := parseRecipients(to)
		if err != nil {
			return nil, err
		}
		e.Recipients = append(e.Recipients, all...)
	}
	if err := e.Check(); err != nil {
		return nil, env.Inputf("Options.EncryptTo: %w", err)
	}
	return e, nil
}

// parseRecipients parses a recipient, or reads a file with recipients.
func parseRecipients(to string) ([]age.Recipient, error) {
	text, where := []byte(to), "Options.EncryptTo"
	switch {
	case strings.HasPrefix(to, "age1"):
	case isSSHKey(text):
		return nil, errSSHKey(where)
	case isIdentity(to):
		return nil, errIdentity(where)
	default:
		var err error
		if text, _, err = regular.ReadInput(to, maxKeys); err != nil {
			return nil, env.InputHint("use age1..., or a file with such lines", "Options.EncryptTo: %w", err)
		}
		where += " " + to
	}
	switch {
	case bytes.Contains(text, []byte(identityPrefix)):
		return nil, errIdentity(where)
	case isSSHKey(text):
		return nil, errSSHKey(where)
	}
	all, err := age.ParseRecipients(bytes.NewReader(text))
	if err != nil {
		return nil, env.Inputf("%s: %w", where, err)
	}
	return all, nil
}

// identityPrefix is how secret identities begin.
const identityPrefix = "AGE-SECRET-KEY-"

// isIdentity reports whether a value, which should be the name of a file, is a secret identity.
func isIdentity(value string) bool {
	return strings.HasPrefix(value, identityPrefix) && !strings.ContainsAny(value, `./\`)
}

// errIdentity returns the error for an identity in place of a recipient. It does not show it.
func errIdentity(where string) error {
	return env.InputHint("age-keygen -y prints the recipients of identities", "%s has secret identities; encryption requires only recipients, and the identities should stay where the archive is read", where)
}

// isSSHKey reports whether a line is an SSH key.
func isSSHKey(text []byte) bool {
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("ssh-")) || bytes.HasPrefix(line, []byte("ecdsa-sha2-")) || bytes.Contains(line, []byte("OPENSSH PRIVATE KEY")) {
			return true
		}
	}
	return false
}

// errSSHKey returns the error for an SSH key in place of an age key.
func errSSHKey(where string) error {
	return env.InputHint("create an age key where the archive is read with age-keygen -o identity.txt, which prints the recipient", "%s: SSH keys can sign archives, but not encrypt or decrypt them", where)
}

// ReadIdentities reads the age identities in files, with which encrypted archives are read. passphrase
// is called for each file that is encrypted; its errors are returned unchanged.
func ReadIdentities(e *env.Env, files []string, passphrase func(file string) ([]byte, error)) ([]age.Identity, error) {
	var all []age.Identity
	for _, file := range files {
		if isIdentity(file) {
			return nil, env.InputHint("write the identity to a file that only you can read", "Options.Identities takes the name of a file, not an identity: other users can see the arguments of a program")
		}
		text, info, err := regular.ReadInput(file, maxKeys)
		if err != nil {
			return nil, env.Inputf("Options.Identities: %w", err)
		}
		env.WarnExposed(e, file, info)
		some, err := parseIdentities(file, text, passphrase)
		clear(text)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// parseIdentities parses the text of a file with identities.
func parseIdentities(file string, text []byte, passphrase func(file string) ([]byte, error)) ([]age.Identity, error) {
	var encrypted io.Reader
	switch {
	case bytes.HasPrefix(text, []byte("age-encryption.org/")):
		encrypted = bytes.NewReader(text)
	case bytes.HasPrefix(text, []byte(armor.Header)):
		encrypted = armor.NewReader(bytes.NewReader(text))
	case isSSHKey(text):
		return nil, errSSHKey(file)
	case bytes.HasPrefix(text, []byte("age1")):
		return nil, env.InputHint("use the file with AGE-SECRET-KEY-..., which age-keygen wrote", "Options.Identities: %s has recipients, which are public, but no identities", file)
	}
	if encrypted != nil {
		secret, err := passphrase(file)
		if err != nil {
			return nil, err
		}
		defer clear(secret)
		if text, err = decryptIdentities(encrypted, secret); err != nil {
			return nil, env.Inputf("Options.Identities: %s is encrypted, and the passphrase is wrong: %w", file, err)
		}
		defer clear(text)
	}
	all, err := age.ParseIdentities(bytes.NewReader(text))
	if err != nil {
		return nil, env.Inputf("Options.Identities: %s: %w", file, err)
	}
	return all, nil
}

// decryptIdentities decrypts a file with identities.
func decryptIdentities(encrypted io.Reader, passphrase []byte) ([]byte, error) {
	key, err := age.NewScryptIdentity(string(passphrase))
	if err != nil {
		return nil, err
	}
	text, err := age.Decrypt(encrypted, key)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(text, maxKeys))
}

// ReadPassphrase reads the first line of a file.
func ReadPassphrase(e *env.Env, file string) ([]byte, error) {
	f, err := regular.OpenInput(file)
	if err != nil {
		return nil, fmt.Errorf("reading the passphrase: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("reading the passphrase: %w", errors.Join(err, f.Close()))
	}
	text, err := io.ReadAll(io.LimitReader(f, env.MaxPassword))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("reading the passphrase: %w", err)
	}
	env.WarnExposed(e, file, info)
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), nil
}
