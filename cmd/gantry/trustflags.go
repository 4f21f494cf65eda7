package main

import (
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
	"github.com/gantry-mirror/gantry/pkg/site/keys"
)

// trustFlags are the flags for the signatures that archives must have.
type trustFlags struct {
	verifyKeys     []string
	allowedSigners string
	signer         string
	require        bool
	identity       *identityFlags
	flags          *pflag.FlagSet // to find out which were given
}

// The names of the flags.
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
	repeatable(f, &t.verifyKeys, verifyKeyFlag, "accept only archives and plans signed by this SSH key, a .pub file (may be repeated)")
	f.StringVar(&t.allowedSigners, allowedSignersFlag, "", "accept only archives and plans signed by a key of this allowed_signers file of ssh-keygen (default: ~/.config/gantry/allowed_signers, if it exists)")
	f.StringVar(&t.signer, signerFlag, "", "the signer that the archive or plan must have, as named in --allowed-signers: ops@example.com")
	f.BoolVar(&t.require, requireSignatureFlag, false, "refuse archives and plans that are not signed (default: true if keys are known); false refuses only invalid signatures")
}

// given returns one of the flags that were given, or "".
func (t *trustFlags) given() string {
	for _, name := range []string{verifyKeyFlag, allowedSignersFlag, signerFlag, requireSignatureFlag, identityFlag, identityPassphraseFlag} {
		if t.flags.Changed(name) {
			return "--" + name
		}
	}
	return ""
}

// keysOnly reports whether none of the flags for encrypted archives was given.
func (t *trustFlags) keysOnly() bool {
	return !t.flags.Changed(identityFlag) && !t.flags.Changed(identityPassphraseFlag)
}

// requires reports whether a signature is required by a flag, and not only by allowed_signers of the user.
func (t *trustFlags) requires() bool {
	if t.flags.Changed(requireSignatureFlag) {
		return t.require
	}
	return len(t.verifyKeys) > 0 || t.flags.Changed(allowedSignersFlag) || t.flags.Changed(signerFlag)
}

// check returns an error if flags were given and no archive is read.
func (t *trustFlags) check(archive bool) error {
	if name := t.given(); name != "" && !archive {
		return usageHint("leave it out", "%s is for reading an archive, and no archive is read", name)
	}
	return nil
}

// policy returns the policy for signatures of archives.
func (a *app) policy(t *trustFlags) (*sshsig.Policy, error) {
	trust := keys.ArchiveTrust{VerifyKey: t.verifyKeys, AllowedSigners: t.allowedSigners, Signer: t.signer}
	if t.flags.Changed(requireSignatureFlag) {
		trust.RequireSignature = &t.require
	}
	return keys.SigningPolicy(a.environment(&a.offline), trust)
}

// saySigned prints who signed an archive, if it is signed.
func (a *app) saySigned(have *archive.Archive) {
	if v := have.Signature(); v.Signed {
		a.say("the archive is signed %s", view.Signed(v))
	}
}

// reading returns the options that archives are opened with: signing policy and identities.
func (a *app) reading(f *trustFlags) (archive.OpenOptions, error) {
	policy, err := a.policy(f)
	if err != nil {
		return archive.OpenOptions{}, err
	}
	identities, err := a.identities(f.identity)
	return archive.OpenOptions{Signatures: policy, Identities: identities, Log: a.log}, err
}
