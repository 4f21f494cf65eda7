package trust

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/signature/policy"
	"github.com/gantry-mirror/gantry/pkg/signature/registriesd"
	"github.com/gantry-mirror/gantry/pkg/signature/stored"
)

// ImageTrust says which signatures images must have. The zero value requires none.
type ImageTrust struct {
	// Policy is a policy.json (containers-policy.json(5)). Only images that it accepts are planned,
	// mirrored and verified.
	Policy string
	// SecurePolicy applies the policy of the machine if Policy is "": ~/.config/containers/policy.json,
	// or else /etc/containers/policy.json.
	SecurePolicy bool
	// RegistriesD is a folder with containers-registries.d(5), which says where OpenPGP signatures are.
	// The default is ~/.config/containers/registries.d, or else /etc/containers/registries.d.
	RegistriesD string
	// Cosign is the program cosign. If it is set, it verifies what the policy requires of certificates
	// of Fulcio, with its own keys, in place of those that the policy names.
	Cosign string
}

// Applies reports whether a policy is applied.
func (t *ImageTrust) Applies() bool { return t.Policy != "" || t.SecurePolicy }

// Check returns an error if options contradict each other.
func (t *ImageTrust) Check() error {
	switch {
	case t.Applies():
		return nil
	case t.RegistriesD != "":
		return env.InputHint("set Options.Policy or Options.SecurePolicy, or leave it out", "Options.RegistriesD is for a signature policy, and none is applied")
	case t.Cosign != "":
		return env.InputHint("set Options.Policy or Options.SecurePolicy, or leave it out", "Options.Cosign is for a signature policy, and none is applied")
	}
	return nil
}

// A SignaturePolicy is a signature policy that is applied.
type SignaturePolicy struct {
	policy     *policy.Policy
	registries *registriesd.Config
	lookaside  string // the default
	cosign     *cosignProgram
	env        *env.Env
	found      *AcceptedImages // in this run
}

// Accepted returns what the policy found in this run; nil without a policy.
func (p *SignaturePolicy) Accepted() *AcceptedImages {
	if p == nil {
		return nil
	}
	return p.found
}

// ReadPolicy reads the signature policy; nil if none is applied.
func ReadPolicy(e *env.Env, t ImageTrust) (*SignaturePolicy, error) {
	if err := t.Check(); err != nil || !t.Applies() {
		return nil, err
	}
	name, home := t.Policy, env.HomeDir(e.Home, e.Variable)
	if name == "" {
		if name = containersFile(home, policyFile); name == "" {
			return nil, env.InputHint("name a policy with Options.Policy", "Options.SecurePolicy: neither %s nor %s exists", filepath.Join("~/.config", containersConfig, policyFile), filepath.Join("/etc", containersConfig, policyFile))
		}
	}
	text, err := readTrust(name)
	if err != nil {
		return nil, env.Inputf("Options.Policy: %w", err)
	}
	p := &SignaturePolicy{env: e, lookaside: defaultLookaside(e)}
	if p.policy, err = policy.Parse(name, text, readTrust); err != nil {
		return nil, err
	}
	folder := cmp.Or(t.RegistriesD, containersFile(home, registriesFolder))
	if folder != "" {
		if p.registries, err = registriesd.Open(folder); err != nil {
			if t.RegistriesD != "" && errors.Is(err, fs.ErrNotExist) {
				return nil, env.Inputf("Options.RegistriesD: %w", err)
			}
			return nil, err
		}
	}
	if t.Cosign != "" {
		if p.cosign, err = findCosign(e, t.Cosign); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// maxTrust is the largest file with keys or certificates, in bytes.
const maxTrust = 1 << 20

// readTrust reads a policy, or keys that it names.
func readTrust(name string) ([]byte, error) { return env.ReadLimited(name, maxTrust) }

// defaultLookaside returns where podman and skopeo keep signatures for which registries.d names no
// place.
func defaultLookaside(e *env.Env) string {
	dir := "/var/lib/containers/sigstore"
	if os.Geteuid() != 0 {
		home := env.HomeDir(e.Home, e.Variable)
		if home == "" {
			return ""
		}
		dir = filepath.Join(home, ".local", "share", "containers", "sigstore")
	}
	return "file://" + filepath.ToSlash(dir)
}

// useCosign verifies keyless signatures with the program, if one is set. at returns where it reads an image.
func (p *SignaturePolicy) useCosign(v *policy.Verifier, at func(policy.Image) string) {
	if p.cosign != nil {
		v.Keyless = func(ctx context.Context, img policy.Image, email, issuer string) error {
			return p.cosign.verify(ctx, p.policy.Name, img, at(img), email, issuer)
		}
	}
}

// verifier returns a verifier that finds signatures with f.
func (p *SignaturePolicy) verifier(f *stored.Finder) *policy.Verifier {
	f.Registries, f.Lookaside = p.registries, p.lookaside
	return &policy.Verifier{Policy: p.policy, Finder: f}
}
