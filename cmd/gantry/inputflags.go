package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/mirror/repositories"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/plan/gates"
	"github.com/gantry-mirror/gantry/plan/selection"
	"github.com/gantry-mirror/gantry/plan/trust"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// Functions in this file add flags for options that several commands have.

// inputs are where the flags for the content that is mirrored are stored.
type inputs struct {
	*selection.Selection
	*updates.ReleaseTrust
	name, workspace  *string
	removeSignatures *bool
}

func (in inputs) addFlags(f *pflag.FlagSet) {
	s := in.Selection
	addSelection(f, s, pathsKept)
	f.BoolVar(&s.CompleteRelatedImages, "complete-related-images", false, "add the images that bundles use and do not list, like relatedImages: complete in each catalog")
	f.StringVar(&s.PlatformsMode, "platforms-mode", "", "sparse or rewrite: how indexes with fewer platforms are mirrored, like platformsMode beside each platforms")
	f.StringVar(&s.DestFormat, "dest-format", "", "convert images for a registry that refuses their media types: docker, oci, or keep (the default)")
	parsedFlag(f, &s.MinAge, "min-age", "string", "", optional(selection.ParseMinAge), "leave out bundles, releases, charts and tags that were created later than this before midnight UTC: 3d, 2w or 72h")
	addReleaseTrust(f, in.ReleaseTrust)
	f.StringVar(in.name, "name", "", "name of the configuration in the workspace, and of its plan (default: name of the file)")
	f.BoolVar(in.removeSignatures, "remove-signatures", false, "leave out the signatures and other referrers of images, as mirror.signatures: remove does")
	f.StringVar(in.workspace, "workspace", env.DefaultWorkspace, "folder for plans, cache and cluster-resources")
}

// checkWorkspace returns an error if the name is empty, as with an unset variable of a script.
func checkWorkspace(name string) error {
	if name == "" || name == env.ArchiveScheme {
		return usagef("--workspace names no folder")
	}
	return nil
}

// checkOutputFile returns an error if a file to write, which a flag names, would be a folder or in no folder. It is called
// before work whose result would be lost.
func checkOutputFile(flag, name string) error {
	switch folder := filepath.Dir(name); {
	case name == "" || name == toStdout:
		return nil
	case isFolder(name):
		return usageHint("name a file in it", "--%s %s is a folder", flag, name)
	case !isFolder(folder):
		return usageHint("make it, or name another file", "--%s %s: there is no folder %s", flag, name, folder)
	}
	return nil
}

// checkOverwrite returns an error if flags name one file to read and to write.
func checkOverwrite(f *pflag.FlagSet) error {
	for _, in := range []string{"config", "plan", "policy"} {
		for _, out := range []string{"lock", "failures", "summary", "metrics-file", "report", "write-receipt", "save", "log-file"} {
			read, written := f.Lookup(in), f.Lookup(out)
			if read != nil && written != nil && read.Changed && written.Changed && isSameFile(read.Value.String(), written.Value.String()) {
				return usageHint("name another file", "--%s would replace the file that --%s reads", out, in)
			}
		}
	}
	return nil
}

// isSameFile reports whether two names are of one file.
func isSameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return filepath.Clean(a) == filepath.Clean(b) || errX == nil && errY == nil && os.SameFile(x, y)
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// pathsKept is the purpose of --installed for commands that select content with it.
const pathsKept = "upgrade paths from there are kept"

// addSelection adds the flags that select content: a configuration, and additions to it on the command line. purpose
// completes the help of --installed: most commands keep the upgrade paths, some only check them.
func addSelection(f *pflag.FlagSet, s *selection.Selection, purpose string) {
	f.StringVarP(&s.Config, "config", "c", "", "ImageSetConfiguration to read")
	repeatable(f, &s.Installed, "installed", "file with what a cluster runs: output of oc get csv, subscription, clusterextension, clusterversion, operatorcondition or clusteroperator -A -o json; "+purpose+" (may be repeated)")
	f.BoolVar(&s.Dependencies, "dependencies", false, "add the operators that the selected ones require, like dependencies: true in each catalog")
}

// addDestFormat adds --dest-format to commands that copy nothing.
func addDestFormat(f *pflag.FlagSet, s *selection.Selection) {
	f.StringVar(&s.DestFormat, "dest-format", "", "with -c: the value that the mirror is filled with (docker, oci or keep)")
}

// addForget adds --forget-installed, for commands that plan for a mirror.
func addForget(f *pflag.FlagSet, s *selection.Selection) {
	f.BoolVar(&s.ForgetInstalled, "forget-installed", false, "what earlier runs recorded of --installed is out of date: keep and check no upgrade paths from there")
}

// onStrandUsage is the help of --on-strand.
const onStrandUsage = "if operators that clusters may have installed have no upgrade path in a new catalog: warn, refuse before anything is published, or known: refuse if clusters run one by --installed or its record"

// addReleaseTrust adds the flags for which platform releases are accepted.
func addReleaseTrust(f *pflag.FlagSet, r *updates.ReleaseTrust) {
	repeatable(f, &r.ReleaseKeys, "release-key", "accept only platform releases signed by a key of this OpenPGP file, instead of the vendor's keys (may be repeated; a key of each file must have signed)")
	f.BoolVar(&r.IgnoreReleaseSignature, "ignore-release-signature", false, "accept platform releases without checking their signatures")
}

// The flags for the signatures that images must have. Oc mirror has them, too.
const (
	policyFlag       = "policy"
	securePolicyFlag = "secure-policy"
	registriesDFlag  = "registries.d"
	cosignFlag       = "cosign"
)

func addImageTrust(f *pflag.FlagSet, t *trust.ImageTrust) {
	f.StringVar(&t.Policy, policyFlag, "", "accept only images that this policy.json accepts, by their signatures")
	f.BoolVar(&t.SecurePolicy, securePolicyFlag, false, "apply the policy.json of the machine: ~/.config/containers/policy.json, or else /etc/containers/policy.json")
	f.StringVar(&t.RegistriesD, registriesDFlag, "", "folder that says where OpenPGP signatures are (default: ~/.config/containers/registries.d, or else /etc/containers/registries.d)")
	f.StringVar(&t.Cosign, cosignFlag, "", "program cosign, which then verifies what the policy requires of certificates of Fulcio")
}

// The flags for programs that decide what may be mirrored.
const (
	gateFlag         = "gate"
	gatePlanFlag     = "gate-plan"
	gateParallelFlag = "gate-parallel"
	gateTimeoutFlag  = "gate-timeout"
	gateValidFlag    = "gate-valid"
)

func addGates(f *pflag.FlagSet, g *gates.Gates) {
	f.StringVar(&g.Gate, gateFlag, "", "run this program for each image; if it ends with 1, the image is not mirrored")
	f.StringVar(&g.GatePlan, gatePlanFlag, "", "run this program for the plan; if it ends with 1, nothing is mirrored")
	f.IntVar(&g.GateParallel, gateParallelFlag, 0, fmt.Sprintf("how many programs of --gate run at the same time; 0 is %d", gates.DefaultGateParallel))
	f.DurationVar(&g.GateTimeout, gateTimeoutFlag, 0, "how long a program may take for one answer; 0 is 10m")
	f.DurationVar(&g.GateValid, gateValidFlag, 0, "for how long the workspace remembers that --gate accepted an image, such as 24h (default: it is asked in each run)")
}

// addRegistryAPI adds the flags for how repositories are created at a registry.
func addRegistryAPI(f *pflag.FlagSet, api *repositories.API) {
	f.StringVar(&api.RegistryKind, "registry-kind", "", "kind of the registry whose API creates repositories: ecr, harbor or quay (default: found out)")
	f.StringVar(&api.RegistryTokenFile, "registry-token-file", "", "file with an OAuth token for Quay's API, with the permissions repo:create and repo:read")
}

// addNestedPaths adds the flag for how many components the paths of a mirror have, to commands that copy nothing.
func addNestedPaths(f *pflag.FlagSet, n *int) {
	f.IntVar(n, "max-nested-paths", 0, "maximum number of path components at the mirror, as in gantry mirror; 0 is no limit")
}
