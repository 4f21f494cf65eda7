package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/pkg/sshsig"
)

// trustFlags say whose archives are taken.
type trustFlags struct {
	verifyKeys     []string
	allowedSigners string
	signer         string
	require        bool
	identity       *identityFlags
	flags          *pflag.FlagSet // tells which were given
}

// What the flags are called.
const (
	verifyKeyFlag        = "verify-key"
	allowedSignersFlag   = "allowed-signers"
	signerFlag           = "signer"
	requireSignatureFlag = "require-signature"
)

func (t *trustFlags) addFlags(f *pflag.FlagSet) {
	t.flags = f
	t.identity = &identityFlags{stdin: func() io.Reader { return os.Stdin }}
	t.identity.addFlags(f)
	f.StringArrayVar(&t.verifyKeys, verifyKeyFlag, nil, "take only archives that this SSH key signed, a .pub file (may be repeated)")
	f.StringVar(&t.allowedSigners, allowedSignersFlag, "", "take only archives that a key of this file signed, an allowed_signers file of ssh-keygen (default: ~/.config/gantry/allowed_signers, where there is one)")
	f.StringVar(&t.signer, signerFlag, "", "who has to have signed the archive, as --allowed-signers calls them: ops@example.com")
	f.BoolVar(&t.require, requireSignatureFlag, false, "refuse archives that are not signed, which is so wherever keys are known; false takes them, and refuses wrong signatures only")
}

// given is one of the flags that was given; "" where none was.
func (t *trustFlags) given() string {
	for _, name := range []string{verifyKeyFlag, allowedSignersFlag, signerFlag, requireSignatureFlag, identityFlag, identityPassphraseFlag} {
		if t.flags.Changed(name) {
			return "--" + name
		}
	}
	return ""
}

// check refuses the flags where no archive is read.
func (t *trustFlags) check(archive bool) error {
	if name := t.given(); name != "" && !archive {
		return usageHint("leave it out", "%s is about the archive that is read, and none is", name)
	}
	return nil
}

// policy says which signatures are taken.
func (a *app) policy(t *trustFlags) (*sshsig.Policy, error) {
	p := &sshsig.Policy{Principal: t.signer, Now: time.Now()}
	file := t.allowedSigners
	// A variable of a script that is not set must not open the door.
	switch {
	case file == "" && t.flags.Changed(allowedSignersFlag):
		return nil, usageHint("name the file, or leave it out", "--allowed-signers names no file")
	case t.signer == "" && t.flags.Changed(signerFlag):
		return nil, usageHint("say who, or leave it out", "--signer names nobody")
	case len(t.verifyKeys) > 0 && file != "":
		return nil, usageHint("give one of the two", "--verify-key and --allowed-signers both say whose archives are taken")
	case len(t.verifyKeys) > 0:
		if t.signer != "" {
			return nil, usageHint("give --allowed-signers, which has names", "--signer is a name, and --verify-key names nobody")
		}
		keys, err := readSigners(sshsig.ParsePublicKeys, "--verify-key", t.verifyKeys...)
		if err != nil {
			return nil, err
		}
		p.Signers = keys
	case file == "":
		file = a.configFile("allowed_signers")
	}
	if file != "" {
		parse := func(text []byte) (*sshsig.Signers, error) { return sshsig.ParseAllowedSigners(text, time.Local) }
		signers, err := readSigners(parse, "--allowed-signers", file)
		if err != nil {
			return nil, err
		}
		p.Signers = signers
	}
	p.Required = p.Signers != nil
	if t.flags.Changed(requireSignatureFlag) {
		p.Required = t.require
	}
	if p.Signers == nil && (p.Required || p.Principal != "") {
		return nil, usageHint("name keys with --verify-key or --allowed-signers", "a signature is required, and no keys are known that it could be of")
	}
	return p, nil
}

// readSigners reads files of keys; all together are one.
func readSigners(parse func([]byte) (*sshsig.Signers, error), flag string, files ...string) (*sshsig.Signers, error) {
	var all bytes.Buffer
	var signers *sshsig.Signers
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return nil, usagef("%s: %w", flag, err)
		}
		text, err := io.ReadAll(io.LimitReader(f, sshsig.MaxSigners+1))
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, usagef("%s: %w", flag, err)
		}
		if _, err := parse(text); err != nil {
			return nil, usagef("%s: %s: %w", flag, file, err)
		}
		all.Write(append(text, '\n'))
		if signers, err = parse(all.Bytes()); err != nil {
			return nil, usagef("%s: %w", flag, err)
		}
	}
	return signers, nil
}

// configFile is a file of the user's configuration; "" where it is not there.
func (a *app) configFile(name string) string {
	dir := a.getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // as the XDG specification has it
		home := a.getenv("HOME")
		if home == "" {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	file := filepath.Join(dir, "gantry", name)
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return file
}

// refusal adds what to do to an archive that is refused for its signature.
func refusal(err error) error {
	var refused *archive.SignatureError
	var untrusted *sshsig.UntrustedError
	switch {
	case !errors.As(err, &refused):
		return err
	case errors.Is(err, sshsig.ErrUnsigned):
		return &hintError{err, "; ", "let it be signed where it was written, with gantry mirror --sign-key, or take it as it is with --require-signature=false"}
	case errors.As(err, &untrusted):
		return &hintError{err, "; ", "ask who wrote it which key that is, in another way than this medium, before it is trusted"}
	}
	return &hintError{err, "; ", "bring the files gantry-*.json and gantry-*.json.sig again from where they were written"}
}

// saySigned says who signed an archive.
func (a *app) saySigned(have *archive.Archive) {
	if v := have.Signature(); v.Signed {
		a.say("%s", signedText(v))
	}
}

// signedText says who signed, in a line.
func signedText(v sshsig.Verdict) string {
	switch {
	case !v.Signed:
		return "the archive is not signed"
	case v.Trusted:
		return fmt.Sprintf("the archive is signed by %s", v.Signer)
	}
	return fmt.Sprintf("the archive is signed with the %s key %s; whose that is, --verify-key or --allowed-signers would tell", v.Type, v.Key)
}

// signatureOf is who signed an archive, for programs; nil where nobody did.
func signatureOf(have *archive.Archive) *sshsig.Verdict {
	if v := have.Signature(); v.Signed {
		return &v
	}
	return nil
}
