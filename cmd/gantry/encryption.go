package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/archive"
)

// encryptFlags say whom an archive is encrypted to.
type encryptFlags struct{ to []string }

func (e *encryptFlags) addFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&e.to, "encrypt-to", nil, "encrypt the archive to this age recipient, age1..., or to those in a file, as age -R reads it (may be repeated)")
}

// check refuses the flag where no archive is written.
func (e *encryptFlags) check(archive bool) error {
	if len(e.to) > 0 && !archive {
		return usagef("--encrypt-to is for file:// destinations")
	}
	return nil
}

// maxKeys bounds a file with recipients or identities, in bytes.
const maxKeys = 1 << 20

// encryption reads whom an archive is encrypted to; nil is nobody, and then it is not.
func (a *app) encryption(f *encryptFlags) (*archive.Encryption, error) {
	if len(f.to) == 0 {
		return nil, nil
	}
	e := &archive.Encryption{}
	for _, to := range f.to {
		all, err := recipients(to)
		if err != nil {
			return nil, err
		}
		e.Recipients = append(e.Recipients, all...)
	}
	if err := e.Check(); err != nil {
		return nil, usagef("--encrypt-to: %w", err)
	}
	a.say("the archive will be encrypted to %s", number(len(e.Recipients), "recipient", "recipients"))
	return e, nil
}

// recipients reads a value of --encrypt-to.
func recipients(to string) ([]age.Recipient, error) {
	text, where := []byte(to), "--encrypt-to"
	if !strings.HasPrefix(to, "age1") {
		if isSSHKey([]byte(to)) {
			return nil, errSSHRecipient(where)
		}
		var err error
		if text, err = readKeys(to); err != nil {
			return nil, usageHint("give age1..., or a file of such lines", "--encrypt-to: %w", err)
		}
		where += " " + to
	}
	switch {
	case bytes.Contains(text, []byte("AGE-SECRET-KEY-")):
		return nil, usageHint("age-keygen -y prints the recipients of identities", "%s has secret identities, which are not needed to encrypt and should stay where the archive is read", where)
	case isSSHKey(text):
		return nil, errSSHRecipient(where)
	}
	all, err := age.ParseRecipients(bytes.NewReader(text))
	if err != nil {
		return nil, usagef("%s: %w", where, err)
	}
	return all, nil
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

func errSSHRecipient(where string) error {
	return usageHint("make an age key where the archive is read, with age-keygen -o identity.txt, which prints the recipient", "%s: SSH keys sign archives here, and do not decrypt them", where)
}

func readKeys(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read from
	text, err := io.ReadAll(io.LimitReader(f, maxKeys+1))
	if err == nil && len(text) > maxKeys {
		err = fmt.Errorf("%s has more than %d bytes and is no file of keys", file, maxKeys)
	}
	return text, err
}

// identityFlags say what opens archives that are encrypted.
type identityFlags struct {
	files          []string
	passphraseFile string
	stdin          func() io.Reader // where a passphrase is asked for, if that is a terminal

	opened []age.Identity // once they are
}

// What the flags are called.
const (
	identityFlag           = "identity"
	identityPassphraseFlag = "identity-passphrase-file"
)

func (i *identityFlags) addFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&i.files, identityFlag, nil, "read encrypted archives with the age identities in this file, as age-keygen writes it (may be repeated)")
	f.StringVar(&i.passphraseFile, identityPassphraseFlag, "", "file with the passphrase of --identity, where that is encrypted (default: it is asked for on the terminal)")
}

// identities reads them, once.
func (a *app) identities(f *identityFlags) ([]age.Identity, error) {
	switch {
	case len(f.files) == 0 && f.passphraseFile != "":
		return nil, usagef("--%s is for --%s", identityPassphraseFlag, identityFlag)
	case f.opened != nil:
		return f.opened, nil
	}
	var all []age.Identity
	for _, file := range f.files {
		some, err := a.identitiesIn(f, file)
		var usage *usageError
		if err != nil && !errors.As(err, &usage) && !errors.Is(err, errInterrupted) {
			err = usagef("--%s: %w", identityFlag, err)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	f.opened = all
	return all, nil
}

func (a *app) identitiesIn(f *identityFlags, file string) ([]age.Identity, error) {
	text, err := readKeys(file)
	if err != nil {
		return nil, err
	}
	defer clear(text)
	var locked io.Reader
	switch {
	case bytes.HasPrefix(text, []byte("age-encryption.org/")):
		locked = bytes.NewReader(text)
	case bytes.HasPrefix(text, []byte(armor.Header)):
		locked = armor.NewReader(bytes.NewReader(text))
	case isSSHKey(text):
		return nil, errSSHRecipient(file)
	case bytes.HasPrefix(text, []byte("age1")):
		return nil, usageHint("give the file with AGE-SECRET-KEY-..., which age-keygen wrote", "--%s: %s has recipients, which anybody may have, and no identities", identityFlag, file)
	}
	if locked != nil {
		passphrase, err := a.identityPassphrase(f, file)
		if err != nil {
			return nil, err
		}
		defer clear(passphrase)
		opener, err := age.NewScryptIdentity(string(passphrase))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		plain, err := age.Decrypt(locked, opener)
		if err == nil {
			text, err = io.ReadAll(io.LimitReader(plain, maxKeys))
		}
		if err != nil {
			return nil, fmt.Errorf("%s is encrypted, and the passphrase does not open it: %w", file, err)
		}
	}
	all, err := age.ParseIdentities(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return all, nil
}

func (a *app) identityPassphrase(f *identityFlags, file string) ([]byte, error) {
	if f.passphraseFile != "" {
		return readPassphrase(f.passphraseFile)
	}
	if f.stdin != nil {
		if in, ok := onTerminal(f.stdin()); ok {
			return a.askPassphrase(in, file)
		}
	}
	return nil, usageHint("name a file that has it with --"+identityPassphraseFlag, "--%s: %s is encrypted, and there is no terminal to ask for its passphrase on", identityFlag, file)
}

// reading is how archives are opened: with whose signature, and with which identities.
func (a *app) reading(f *trustFlags) (archive.OpenOptions, error) {
	policy, err := a.policy(f)
	if err != nil {
		return archive.OpenOptions{}, err
	}
	identities, err := a.identities(f.identity)
	return archive.OpenOptions{Signatures: policy, Identities: identities, Log: a.log}, err
}

// adviseIdentity adds what to do about an archive that does not open.
func adviseIdentity(err error) error {
	var locked *archive.LockedError
	if !errors.As(err, &locked) || hintOf(err) != "" {
		return err
	}
	hint := "give the identity of a recipient with --" + identityFlag
	if locked.Tried > 0 {
		hint = "ask who wrote it whom --encrypt-to named"
	}
	return &hintError{err, "; ", hint}
}
