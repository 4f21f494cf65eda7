package gantry

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gantry-mirror/gantry/pkg/regular"
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

// applies reports whether a policy is applied.
func (t *ImageTrust) applies() bool { return t.Policy != "" || t.SecurePolicy }

// check returns an error if options contradict each other.
func (t *ImageTrust) check() error {
	switch {
	case t.applies():
		return nil
	case t.RegistriesD != "":
		return inputHint("set Options.Policy or Options.SecurePolicy, or leave it out", "Options.RegistriesD is for a signature policy, and none is applied")
	case t.Cosign != "":
		return inputHint("set Options.Policy or Options.SecurePolicy, or leave it out", "Options.Cosign is for a signature policy, and none is applied")
	}
	return nil
}

// The files of containers/image below the home folder and /etc.
const (
	containersConfig = "containers"
	policyFile       = "policy.json"
	registriesFolder = "registries.d"
)

// An imagePolicy is a signature policy that is applied.
type imagePolicy struct {
	policy     *policy.Policy
	registries *registriesd.Config
	lookaside  string // the default
	cosign     *cosignProgram
	env        *Env
	found      *acceptedImages // in this run
}

// accepted returns what the policy found in this run; nil without a policy.
func (p *imagePolicy) accepted() *acceptedImages {
	if p == nil {
		return nil
	}
	return p.found
}

// imagePolicy reads the signature policy; nil if none is applied.
func (e *Env) imagePolicy(t ImageTrust) (*imagePolicy, error) {
	if err := t.check(); err != nil || !t.applies() {
		return nil, err
	}
	name := t.Policy
	if name == "" {
		if name = e.containersFile(policyFile); name == "" {
			return nil, inputHint("name a policy with Options.Policy", "Options.SecurePolicy: neither %s nor %s exists", filepath.Join("~/.config", containersConfig, policyFile), filepath.Join("/etc", containersConfig, policyFile))
		}
	}
	text, err := readTrust(name)
	if err != nil {
		return nil, inputf("Options.Policy: %w", err)
	}
	p := &imagePolicy{env: e, lookaside: e.defaultLookaside()}
	if p.policy, err = policy.Parse(name, text, readTrust); err != nil {
		return nil, err
	}
	folder := cmp.Or(t.RegistriesD, e.containersFile(registriesFolder))
	if folder != "" {
		if p.registries, err = registriesd.Open(folder); err != nil {
			if t.RegistriesD != "" && errors.Is(err, fs.ErrNotExist) {
				return nil, inputf("Options.RegistriesD: %w", err)
			}
			return nil, err
		}
	}
	if t.Cosign != "" {
		if p.cosign, err = e.cosignProgram(t.Cosign); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// maxTrust is the largest file with keys or certificates, in bytes.
const maxTrust = 1 << 20

// readTrust reads a policy, or keys that it names.
func readTrust(name string) ([]byte, error) {
	f, err := regular.OpenInput(name)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxTrust+1))
	return text, errors.Join(err, f.Close())
}

// containersFile returns a file or folder of containers/image: the user's, or else the machine's; "" if
// neither exists.
func (e *Env) containersFile(name string) string {
	var all []string
	if home := e.home(); home != "" {
		all = append(all, filepath.Join(home, ".config", containersConfig, name))
	}
	for _, path := range append(all, filepath.Join("/etc", containersConfig, name)) {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path // an error is returned when it is read
		}
	}
	return ""
}

// home returns the user's home folder, or "".
func (e *Env) home() string { return cmp.Or(e.Home, e.getenv("HOME")) }

// defaultLookaside returns where podman and skopeo keep signatures for which registries.d names no
// place.
func (e *Env) defaultLookaside() string {
	dir := "/var/lib/containers/sigstore"
	if os.Geteuid() != 0 {
		home := e.home()
		if home == "" {
			return ""
		}
		dir = filepath.Join(home, ".local", "share", "containers", "sigstore")
	}
	return "file://" + filepath.ToSlash(dir)
}

// verifier returns a verifier that finds signatures with f.
func (p *imagePolicy) verifier(f *stored.Finder) *policy.Verifier {
	f.Registries, f.Lookaside = p.registries, p.lookaside
	return &policy.Verifier{Policy: p.policy, Finder: f}
}
