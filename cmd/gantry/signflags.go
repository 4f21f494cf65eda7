package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
	"github.com/gantry-mirror/gantry/pkg/site/keys"
)

// signKeyFlag is the name of the flag.
const signKeyFlag = "sign-key"

// signFlags are the flags for signing archives, receipts and plans.
type signFlags struct {
	key            string
	passphraseFile string
	stdin          io.Reader // a passphrase is requested there if it is a terminal
	what           string    // what is signed, for messages
	flags          *pflag.FlagSet
}

// addFlags adds the flags. signs is what --sign-key does, for its description.
func (s *signFlags) addFlags(f *pflag.FlagSet, signs string) {
	s.flags = f
	f.StringVar(&s.key, signKeyFlag, "", signs+" with this SSH key: a private key, or a public key (.pub) of ssh-agent")
	f.StringVar(&s.passphraseFile, "sign-passphrase-file", "", "file with the passphrase of --sign-key (default: prompt on the terminal)")
}

// check returns an error if flags were given and nothing can be signed. where says when something is.
func (s *signFlags) check(signed bool, where string) error {
	switch {
	case s.key == "" && s.passphraseFile != "":
		return usagef("--sign-passphrase-file is for --sign-key")
	case s.key != "" && !signed:
		return usagef("--sign-key is for %s", where)
	}
	return nil
}

// signKey opens the key, or returns nil if nothing is signed. It is called first, so that the prompt
// for a passphrase does not appear after hours.
func (a *app) signKey(ctx context.Context, f signFlags) (*sshsig.Key, error) {
	if f.key == "" {
		return nil, nil
	}
	opts := sshsig.KeyOptions{Agent: a.getenv("SSH_AUTH_SOCK")}
	switch in, ok := f.stdin.(*os.File); {
	case f.passphraseFile != "":
		opts.Agent = "" // the user asked for the key of this file
		opts.Passphrase = func(context.Context, string) ([]byte, error) {
			return keys.ReadPassphrase(a.environment(&a.offline), f.passphraseFile)
		}
	case ok && term.IsTerminal(int(in.Fd())):
		opts.Passphrase = func(_ context.Context, file string) ([]byte, error) { return a.askPassphrase(in, file) }
	}
	key, err := sshsig.OpenKey(ctx, f.key, opts)
	switch {
	case errors.Is(err, sshsig.ErrPassphrase):
		return nil, usageHint("set --sign-passphrase-file, or add the key to ssh-agent",
			"--sign-key: %w and there is no terminal for a prompt", err)
	case errors.Is(err, errInterrupted):
		return nil, err
	case err != nil:
		return nil, usagef("--sign-key: %w", err)
	}
	a.say("%s will be signed with the %s key %s", f.what, key.Signer().Type, key.Signer().Key)
	return key, nil
}

// askPassphrase prompts for a passphrase on a terminal.
func (a *app) askPassphrase(in *os.File, file string) ([]byte, error) {
	if err := a.makeRaw(in); err != nil {
		return nil, fmt.Errorf("asking for the passphrase: %w", err)
	}
	text, err := promptPassphrase(struct {
		io.Reader
		io.Writer
	}{in, a.stderr}, file)
	return text, errors.Join(err, a.restoreTerminal())
}

// promptPassphrase prompts for a passphrase on a terminal in raw mode.
func promptPassphrase(rw io.ReadWriter, file string) ([]byte, error) {
	text, err := term.NewTerminal(rw, "").ReadPassword("Passphrase of " + file + ": ")
	if err != nil {
		return nil, unanswered(rw, "asking for the passphrase", err)
	}
	return []byte(text), nil
}
