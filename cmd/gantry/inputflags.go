package main

import (
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/plan/selection"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// inputs are the flags for the content that is mirrored.
type inputs struct {
	selectFlags
	releaseFlags
	complete  bool // mirror the images that bundles use and do not list
	platforms string
	format    string // of media types
	minAge    ageFlag
	plan      string
	name      string // of the plan; "" is the name of the file
	workspace string
	forget    bool // what earlier runs recorded of installed operators
	// removeSignatures leaves out signatures and other referrers of images.
	removeSignatures bool
}

// destFormatUsage is the help of --dest-format of commands that copy nothing.
const destFormatUsage = "with -c: the value that the mirror is filled with (docker, oci or keep)"

func (in *inputs) addFlags(f *pflag.FlagSet) {
	in.selectFlags.addFlags(f, pathsKept)
	f.BoolVar(&in.complete, "complete-related-images", false, "add the images that bundles use and do not list, like relatedImages: complete in each catalog")
	f.StringVar(&in.platforms, "platforms-mode", "", "sparse or rewrite: how indexes with fewer platforms are mirrored, like platformsMode beside each platforms")
	f.StringVar(&in.format, "dest-format", "", "convert images for a registry that refuses their media types: docker, oci, or keep (the default)")
	f.Var(&in.minAge, "min-age", "leave out bundles, releases, charts and tags that were created later than this before midnight UTC: 3d, 2w or 72h")
	in.releaseFlags.addFlags(f)
	f.StringVar(&in.name, "name", "", "name of the configuration in the workspace, and of its plan (default: name of the file)")
	f.BoolVar(&in.removeSignatures, "remove-signatures", false, "leave out the signatures and other referrers of images, as mirror.signatures: remove does")
	f.StringVar(&in.workspace, "workspace", env.DefaultWorkspace, "folder for plans, cache and cluster-resources")
}

// onStrandUsage is the help of --on-strand.
const onStrandUsage = "if operators that clusters may have installed have no upgrade path in a new catalog: warn, refuse before anything is published, or known: refuse if clusters run one by --installed or its record"

// addForget adds --forget-installed, for commands that plan for a mirror.
func addForget(f *pflag.FlagSet, in *inputs) {
	f.BoolVar(&in.forget, "forget-installed", false, "what earlier runs recorded of --installed is out of date: keep and check no upgrade paths from there")
}

// checkWorkspace returns an error if the name is empty, as with an unset variable of a script.
func (in *inputs) checkWorkspace() error {
	if in.workspace == "" || in.workspace == env.ArchiveScheme {
		return usagef("--workspace names no folder")
	}
	return nil
}

// releaseFlags are the flags for which platform releases are accepted.
type releaseFlags struct {
	keys   []string
	ignore bool
}

func (r *releaseFlags) addFlags(f *pflag.FlagSet) {
	repeatable(f, &r.keys, "release-key", "accept only platform releases signed by a key of this OpenPGP file, instead of the vendor's keys (may be repeated; a key of each file must have signed)")
	f.BoolVar(&r.ignore, "ignore-release-signature", false, "accept platform releases without checking their signatures")
}

// trust returns the values of the flags.
func (r *releaseFlags) trust() updates.ReleaseTrust {
	return updates.ReleaseTrust{ReleaseKeys: r.keys, IgnoreReleaseSignature: r.ignore}
}

// selection returns the values of the flags.
func (in *inputs) selection() selection.Selection {
	s := in.selectFlags.selection()
	s.ForgetInstalled = in.forget
	s.CompleteRelatedImages, s.PlatformsMode, s.DestFormat, s.MinAge = in.complete, in.platforms, in.format, in.minAge.age
	return s
}

// selection returns the values of the flags.
func (s *selectFlags) selection() selection.Selection {
	return selection.Selection{Config: s.config, Installed: s.installed, Dependencies: s.dependencies}
}
