package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/pkg/sshsig"
)

// signKeyFlag is what the flag is called.
const signKeyFlag = "sign-key"

// signFlags say what an archive is signed with.
type signFlags struct {
	key            string
	passphraseFile string
	stdin          io.Reader // where a passphrase is asked for, if that is a terminal
	what           string    // is signed, for people
	flags          *pflag.FlagSet
}

func (s *signFlags) addFlags(f *pflag.FlagSet) {
	s.flags = f
	f.StringVar(&s.key, signKeyFlag, "", "sign the archive, or with --from the receipt, with this SSH key: a private key, or a public one (.pub) that ssh-agent has the private key of")
	f.StringVar(&s.passphraseFile, "sign-passphrase-file", "", "file with the passphrase of --sign-key (default: it is asked for on the terminal)")
}

// check refuses the flags where nothing can be signed.
func (s *signFlags) check(signed bool) error {
	switch {
	case s.key == "" && s.flags.Changed(signKeyFlag):
		return usageHint("name the file, or leave it out", "--sign-key names no file")
	case s.key == "" && s.passphraseFile != "":
		return usagef("--sign-passphrase-file is for --sign-key")
	case s.key != "" && !signed:
		return usagef("--sign-key is for file:// destinations and for --from")
	}
	return nil
}

// signKey opens the key, before anything else is done: a passphrase is not asked
// for after hours. It is nil where nothing is signed.
func (a *app) signKey(ctx context.Context, f signFlags) (*sshsig.Key, error) {
	if f.key == "" {
		return nil, nil
	}
	opts := sshsig.KeyOptions{Agent: a.getenv("SSH_AUTH_SOCK")}
	switch in, ok := f.stdin.(*os.File); {
	case f.passphraseFile != "":
		opts.Agent = "" // the file is named to be used
		opts.Passphrase = func(context.Context, string) ([]byte, error) { return readPassphrase(f.passphraseFile) }
	case ok && term.IsTerminal(int(in.Fd())):
		opts.Passphrase = func(_ context.Context, file string) ([]byte, error) { return a.askPassphrase(in, file) }
	}
	key, err := sshsig.OpenKey(ctx, f.key, opts)
	switch {
	case errors.Is(err, sshsig.ErrPassphrase):
		return nil, usageHint("name a file that has it with --sign-passphrase-file, or add the key to ssh-agent",
			"--sign-key: %w and there is no terminal to ask for its passphrase on", err)
	case errors.Is(err, errInterrupted):
		return nil, err
	case err != nil:
		return nil, usagef("--sign-key: %w", err)
	}
	a.say("%s will be signed with the %s key %s", f.what, key.Signer().Type, key.Signer().Key)
	return key, nil
}

// signWith is how archives are signed with a key; nil where there is none.
func signWith(key *sshsig.Key) func(context.Context, io.Reader) ([]byte, error) {
	if key == nil {
		return nil
	}
	return func(ctx context.Context, manifest io.Reader) ([]byte, error) {
		return key.Sign(ctx, archive.SignatureNamespace, manifest)
	}
}

// readPassphrase reads the first line of a file.
func readPassphrase(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading the passphrase: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPassword))
	if err != nil {
		return nil, fmt.Errorf("reading the passphrase: %w", err)
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), nil
}

// askPassphrase asks on a terminal.
func (a *app) askPassphrase(in *os.File, file string) ([]byte, error) {
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("asking for the passphrase: %w", err)
	}
	text, err := promptPassphrase(struct {
		io.Reader
		io.Writer
	}{in, a.stderr}, file)
	return text, errors.Join(err, term.Restore(int(in.Fd()), state))
}

// promptPassphrase asks on a terminal in raw mode.
func promptPassphrase(rw io.ReadWriter, file string) ([]byte, error) {
	text, err := term.NewTerminal(rw, "").ReadPassword("Passphrase of " + file + ": ")
	if err != nil {
		return nil, unanswered(rw, err)
	}
	return []byte(text), nil
}
