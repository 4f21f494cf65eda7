package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Command lines that were written for oc mirror work as far as they mean
// something here. A flag that is not needed is taken, and that is said; one that
// would have to do something is refused, with what does it here.

// addUnneeded adds the flags of oc mirror that ask for nothing that does not
// happen anyway.
func addUnneeded(f *pflag.FlagSet) {
	f.Bool("v2", false, "")
	f.Bool("remove-signatures", false, "")
	f.Duration("image-timeout", 0, "")
	f.Uint16P("port", "p", 0, "")
	f.String("rootless-storage-path", "", "")
	for _, flag := range unneededFlags() {
		f.Lookup(flag.name).Hidden = true
	}
}

// ocFlag is a flag of oc mirror and what is said of it.
type ocFlag struct{ name, word string }

func unneededFlags() []ocFlag {
	return []ocFlag{
		{"v2", "configurations of version 2 are all that is read"},
		{"remove-signatures", "signatures of images are mirrored with platform releases alone, whose clusters want them"},
		{"image-timeout", "no image has a time limit; a transfer in which nothing moves is tried again"},
		{"port", "no registry is started for a cache"},
		{"rootless-storage-path", "no container storage is used"},
	}
}

// sayUnneeded says of each such flag that was given why it changes nothing.
func (a *app) sayUnneeded(given *pflag.FlagSet) {
	for _, flag := range unneededFlags() {
		if given.Changed(flag.name) {
			a.say("--%s changes nothing: %s", flag.name, flag.word)
		}
	}
}

// instead is what to use in place of a flag of oc mirror; "" for another flag.
func instead(name string) string {
	switch name {
	case "cache-dir":
		return "use --workspace DIR: the cache is a folder in it"
	case "dry-run-manifest-lists":
		return "use --dry-run for what would be copied, or gantry plan -o plan.json, which lists every manifest"
	case "policy", "secure-policy", "registries.d":
		return "leave it out: signatures are verified of platform releases alone, with the vendor's keys or those of --release-key, and a policy would not be followed"
	case "ignore-release-signature":
		return "leave it out: gantry plan and gantry mirror have it, and take platform releases here no other way"
	case "tls-verify":
		return "use --src-tls-verify or --dest-tls-verify"
	case "creds", "src-creds", "dest-creds", "username", "src-username", "dest-username", "password", "src-password", "dest-password":
		return "use gantry login: others on this machine see what stands on a command line"
	case "source-skip-tls":
		return "use --src-tls-verify=false"
	case "dest-skip-tls":
		return "use --dest-tls-verify=false"
	case "source-use-http":
		return "use --src-plain-http"
	case "dest-use-http":
		return "use --dest-plain-http"
	case "continue-on-error", "skip-missing":
		return "leave it out: an image that fails does not stop the others, and the run ends with status 3; --on-error stop ends it there"
	case "ignore-history":
		return "leave it out: what a mirror has is looked up there"
	case "generate", "delete-yaml-file", "delete-id", "force-cache-delete", "delete-signatures", "delete-v1-images":
		return "leave it out: this version deletes nothing from a mirror"
	}
	for _, flag := range unneededFlags() { // at another verb than mirror
		if flag.name == name {
			return "leave it out: " + flag.word
		}
	}
	return ""
}

// flagError says what is wrong with a flag, and what to use where it is known
// from oc mirror.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		if hint := instead(unknown.GetSpecifiedName()); hint != "" {
			return usageHint(hint, "--%s of oc mirror is no flag here", unknown.GetSpecifiedName())
		}
	}
	return &usageError{seeHelp(cmd, err)}
}
