package keys

import (
	"bytes"
	"time"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
)

// ArchiveTrust says which signatures archives and receipts must have.
type ArchiveTrust struct {
	// VerifyKey are files with SSH public keys. Only what one of them signed is accepted.
	VerifyKey []string
	// AllowedSigners is a file as ssh-keygen reads it. The default is
	// ~/.config/gantry/allowed_signers, if it exists and VerifyKey is empty.
	AllowedSigners string
	// Signer is the signer that is required, as named in AllowedSigners. The default is any of them.
	Signer string
	// RequireSignature refuses what is not signed. The default is true if keys are known. With false,
	// only invalid signatures are refused.
	RequireSignature *bool
}

// SigningPolicy reads the trusted keys.
func SigningPolicy(e *env.Env, t ArchiveTrust) (*sshsig.Policy, error) {
	p := &sshsig.Policy{Principal: t.Signer, Now: time.Now()}
	file := t.AllowedSigners
	var err error
	switch {
	case len(t.VerifyKey) > 0 && file != "":
		return nil, env.InputHint("use one of the two", "Options.VerifyKey and Options.AllowedSigners both name trusted keys")
	case len(t.VerifyKey) > 0 && t.Signer != "":
		return nil, env.InputHint("use Options.AllowedSigners, a file with names", "Options.Signer requires names, and keys of Options.VerifyKey have no names")
	case len(t.VerifyKey) > 0:
		p.Signers, err = ReadSigners(sshsig.ParsePublicKeys, "Options.VerifyKey", t.VerifyKey...)
	case file == "":
		file = env.ConfigFile(e.Variable, "allowed_signers")
	}
	if file != "" {
		parse := func(text []byte) (*sshsig.Signers, error) { return sshsig.ParseAllowedSigners(text, time.Local) }
		p.Signers, err = ReadSigners(parse, "Options.AllowedSigners", file)
	}
	if err != nil {
		return nil, err
	}
	p.Required = p.Signers != nil
	if t.RequireSignature != nil {
		p.Required = *t.RequireSignature
	}
	if p.Signers == nil && (p.Required || p.Principal != "") {
		return nil, env.InputHint("name keys with Options.VerifyKey or Options.AllowedSigners", "a signature is required, and no trusted keys are known")
	}
	return p, nil
}

// ReadSigners reads the files with keys that an option names, and merges them.
func ReadSigners(parse func([]byte) (*sshsig.Signers, error), option string, files ...string) (*sshsig.Signers, error) {
	var all bytes.Buffer
	var signers *sshsig.Signers
	for _, file := range files {
		text, err := env.ReadLimited(file, sshsig.MaxSigners)
		if err != nil {
			return nil, env.Inputf("%s: %w", option, err)
		}
		if _, err := parse(text); err != nil {
			return nil, env.Inputf("%s: %s: %w", option, file, err)
		}
		all.Write(append(text, '\n'))
		if signers, err = parse(all.Bytes()); err != nil {
			return nil, env.Inputf("%s: %w", option, err)
		}
	}
	return signers, nil
}
