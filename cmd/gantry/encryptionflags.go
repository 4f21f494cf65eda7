package main

import (
	"io"
	"os"

	"filippo.io/age"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/site/keys"
)

// encryptFlags are the flags for encrypting an archive.
type encryptFlags struct{ to []string }

func (e *encryptFlags) addFlags(f *pflag.FlagSet) {
	repeatable(f, &e.to, "encrypt-to", "encrypt the archive to this age recipient, age1..., or to those of a file, as with age -R (may be repeated)")
}

// check returns an error if the flag was given and no archive is written.
func (e *encryptFlags) check(archive bool) error {
	if len(e.to) > 0 && !archive {
		return usagef("--encrypt-to is for file:// destinations")
	}
	return nil
}

// encryption returns the recipients of an archive, or nil if it is not encrypted.
func (a *app) encryption(f *encryptFlags) (*archive.Encryption, error) {
	e, err := keys.NewEncryption(f.to)
	if err == nil && e != nil {
		a.say("the archive will be encrypted to %s", view.Number(len(e.Recipients), "recipient", "recipients"))
	}
	return e, err
}

// identityFlags are the flags for reading encrypted archives.
type identityFlags struct {
	files          []string
	passphraseFile string
	stdin          func() io.Reader // a passphrase is requested there if it is a terminal

	opened []age.Identity // the identities, after they were read
}

// The names of the flags.
const (
	identityFlag           = "identity"
	identityPassphraseFlag = "identity-passphrase-file"
)

func (i *identityFlags) addFlags(f *pflag.FlagSet) {
	repeatable(f, &i.files, identityFlag, "read encrypted archives with the age identities of this file, from age-keygen (may be repeated)")
	f.StringVar(&i.passphraseFile, identityPassphraseFlag, "", "file with the passphrase of an encrypted --identity (default: prompt on the terminal)")
}

// identities returns the identities of the flags. Files are read once.
func (a *app) identities(f *identityFlags) ([]age.Identity, error) {
	switch {
	case len(f.files) == 0 && f.passphraseFile != "":
		return nil, usagef("--%s is for --%s", identityPassphraseFlag, identityFlag)
	case f.opened != nil:
		return f.opened, nil
	}
	var err error
	f.opened, err = keys.ReadIdentities(a.environment(&a.offline), f.files, func(file string) ([]byte, error) { return a.identityPassphrase(f, file) })
	return f.opened, err
}

// identityPassphrase returns the passphrase of an encrypted file with identities.
func (a *app) identityPassphrase(f *identityFlags, file string) ([]byte, error) {
	if f.passphraseFile != "" {
		text, err := keys.ReadPassphrase(a.environment(&a.offline), f.passphraseFile)
		if err != nil {
			return nil, usagef("--%s: %w", identityPassphraseFlag, err)
		}
		return text, nil
	}
	if f.stdin != nil {
		if in, ok := onTerminal(f.stdin()); ok {
			return a.askPassphrase(in, file)
		}
	}
	return nil, usageHint("set --"+identityPassphraseFlag, "--%s: %s is encrypted, and there is no terminal for a prompt", identityFlag, file)
}

// onTerminal returns a reader as a terminal, if it is one.
func onTerminal(in io.Reader) (*os.File, bool) {
	f, ok := in.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}
