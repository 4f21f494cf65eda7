package main

import (
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/plan/trust"
)

// policyFlags are the flags for the signatures that images must have.
type policyFlags struct {
	policy, registries, cosign string
	secure                     bool
	flags                      *pflag.FlagSet // to find out which were given
}

// The names of the flags, which oc mirror has, too.
const (
	policyFlag       = "policy"
	securePolicyFlag = "secure-policy"
	registriesDFlag  = "registries.d"
	cosignFlag       = "cosign"
)

func (p *policyFlags) addFlags(f *pflag.FlagSet) {
	p.flags = f
	f.StringVar(&p.policy, policyFlag, "", "accept only images that this policy.json accepts, by their signatures")
	f.BoolVar(&p.secure, securePolicyFlag, false, "apply the policy.json of the machine: ~/.config/containers/policy.json, or else /etc/containers/policy.json")
	f.StringVar(&p.registries, registriesDFlag, "", "folder that says where OpenPGP signatures are (default: ~/.config/containers/registries.d, or else /etc/containers/registries.d)")
	f.StringVar(&p.cosign, cosignFlag, "", "program cosign, which then verifies what the policy requires of certificates of Fulcio")
}

// trust returns the values of the flags. An unset variable of a script must not disable the check.
func (p *policyFlags) trust() (trust.ImageTrust, error) {
	for name, value := range map[string]string{policyFlag: p.policy, registriesDFlag: p.registries, cosignFlag: p.cosign} {
		if value == "" && p.flags.Changed(name) {
			return trust.ImageTrust{}, usageHint("name a file, or leave it out", "--%s is empty", name)
		}
	}
	return trust.ImageTrust{Policy: p.policy, SecurePolicy: p.secure, RegistriesD: p.registries, Cosign: p.cosign}, nil
}
