package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/cluster/check"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/plan/proof"
)

// checkFlags are the flags of gantry check.
type checkFlags struct {
	readFlags
	selectFlags
	platformFlags
	plan           string
	clusterVersion string
	archiveTrust   trustFlags
	extensionFiles []string
	catalogFiles   []string
	crdSafety      bool
	form           string
}

// platformFlags are the flags of gantry check --platform.
type platformFlags struct {
	releaseFlags
	platform       bool
	from           []string
	to             string
	channel        string
	arch           string
	maxNestedPaths int
	blobs          verifiedBlobs

	own *pflag.FlagSet // flags that only --platform uses
}

func (f *platformFlags) addFlags(all *pflag.FlagSet, registries *registryFlags) {
	all.BoolVar(&f.platform, "platform", false, "check updates of the platform with the content of a mirror")
	f.own = pflag.NewFlagSet("", pflag.ContinueOnError)
	f.releaseFlags.addFlags(f.own)
	f.own.StringSliceVar(&f.from, "from", nil, "with --platform and --to: version that clusters run (may be repeated, or with commas)")
	f.own.StringVar(&f.to, "to", "", "with --platform and --from: version to update to")
	f.own.StringVar(&f.channel, "channel", "", "with --to: channel that clusters follow (default: a channel that has the version, preferably a stable one)")
	f.own.StringVar(&f.arch, "arch", "", "with --to: architecture of the clusters, such as arm64 or multi (default: all that the mirror has the versions for)")
	f.own.IntVar(&f.maxNestedPaths, "max-nested-paths", 0, "with --platform: the value that the mirror was filled with; 0 is no limit")
	f.blobs.addFlags(f.own, "blobs of the releases, with --platform")
	registries.dest.addFlags(f.own, "dest", "mirror of --platform")
	all.AddFlagSet(f.own)
}

// stray returns an error if a flag is set that only --platform uses.
func (f *platformFlags) stray() error {
	var err error
	f.own.VisitAll(func(flag *pflag.Flag) {
		if flag.Changed && err == nil {
			err = usagef("--%s is for --platform", flag.Name)
		}
	})
	return err
}

func (a *app) checkCommand() *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use: "check {-c FILE [docker://MIRROR] | --plan FILE | docker://MIRROR | CATALOG... | file://DIR...} | check --platform docker://MIRROR",
		Long: `Check whether OLM can update the operators that clusters run (--installed) with the
content of a mirror, over which versions, and what may block an update. docker://MIRROR, a
host and prefix, is checked with all its catalogs, and with -c, what a run would publish, too.
With --cluster-version, also list the heads that do not fit it, with --cluster-extension,
resolve ClusterExtensions as OLM v1 would, and with --crd-safety, name the updates that
OLM v1 refuses because of changed CustomResourceDefinitions.
With --platform, check updates of the platform: the update graph, the images and the
signatures in a mirror, for the plans of the workspace, -c or --plan, or --from and --to.
` + catalogHelp + `
` + exitCodes(map[int]string{
			exitMismatch:     "an update is not possible, something that it requires is missing, or the update of the\n   platform from --installed to a later minor version (--cluster-version) is blocked",
			exitLocked:       "the workspace is in use by another run (--platform)",
			exitUnauthorized: helpUnauthorized,
		}),
		Example: `  gantry check -c imageset.yaml --installed csv.json --cluster-version 4.20.3
  gantry check docker://mirror.example.com:5000/ocp --installed csv.json
  gantry check file:///media/disk --crd-safety
  gantry check --platform docker://mirror.example.com:5000/ocp
  gantry check --platform --from 4.18.20 --to 4.20.5 docker://mirror.example.com:5000/ocp`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.check(cmd.Context(), f, args)
		},
	}
	f.readFlags.addFlags(c.Flags())
	f.selectFlags.addFlags(c.Flags(), "its updates are checked")
	f.platformFlags.addFlags(c.Flags(), &f.registryFlags)
	f.archiveTrust.addFlags(c.Flags())
	c.Flags().StringVar(&f.plan, "plan", "", "check this plan, as gantry plan --lock writes it")
	c.Flags().StringVar(&f.clusterVersion, "cluster-version", "", "version of OpenShift that clusters run or will be updated to, such as 4.20.3 (default: from a ClusterVersion in --installed)")
	repeatable(c.Flags(), &f.extensionFiles, "cluster-extension", "file with ClusterExtensions to resolve (may be repeated)")
	repeatable(c.Flags(), &f.catalogFiles, "cluster-catalog", "file with the ClusterCatalogs of the cluster (may be repeated)")
	c.Flags().BoolVar(&f.crdSafety, "crd-safety", false, "compare the CustomResourceDefinitions of neighboring bundles by the rules of OLM v1; may read the images of bundles")
	formFlag(c.Flags(), &f.form, "format of the report: text, json or yaml", outputText, outputJSON, outputYAML)
	return c
}

// options returns the options that the flags set.
func (f *checkFlags) options(a *app, args []string) (check.Options, error) {
	o := check.Options{
		Env: a.environment(&f.registryFlags), Selection: f.selection(), Plan: f.plan, Workspace: f.workspace,
		ClusterVersion: f.clusterVersion, ClusterExtension: f.extensionFiles, ClusterCatalog: f.catalogFiles,
		CRDSafety: f.crdSafety,
	}
	isArchive := len(args) > 0 && strings.HasPrefix(args[0], env.ArchiveScheme)
	if err := f.archiveTrust.check(isArchive && !f.platform); err != nil {
		return o, err
	}
	if !f.platform {
		var err error
		if o.Read, err = a.reading(&f.archiveTrust); err != nil {
			return o, err
		}
		o.Catalogs = args
		return o, f.stray()
	}
	if f.crdSafety {
		return o, usageHint("run gantry check twice", "--crd-safety is for operators, and --platform for releases")
	}
	if len(args) != 1 || !strings.HasPrefix(args[0], dockerScheme) {
		return o, usageHint("write docker://HOST[:PORT][/PREFIX]", "--platform requires one mirror")
	}
	o.Mirror, o.ReleaseTrust = args[0], f.trust()
	o.From, o.To, o.Channel, o.Arch, o.MaxNestedPaths = f.from, f.to, f.channel, f.arch, f.maxNestedPaths
	o.Blobs, o.ReadBlobs = f.blobs.requested(), f.blobs.readAll()
	return o, nil
}

func (a *app) check(ctx context.Context, f checkFlags, args []string) error {
	if err := a.form(f.form, outputText, outputJSON, outputYAML); err != nil {
		return err
	}
	if err := f.blobs.checkArgs(args); err != nil {
		return err
	}
	o, err := f.options(a, args)
	if err != nil {
		return err
	}
	result, err := check.Run(ctx, o)
	if result == nil {
		return err
	}
	if printErr := a.showCheck(f.form, result); printErr != nil {
		return printErr
	}
	return err
}

// showCheck prints the result of a check.
func (a *app) showCheck(form string, r *check.Result) error {
	if r.Platform != nil {
		nameFlags(r.Platform)
		if form != outputText {
			return a.print(form, r.Platform)
		}
		return a.text(view.PlatformCheck(r.Platform, a.columns()))
	}
	for i := range r.Extensions {
		r.Extensions[i].Error = flagNames(r.Extensions[i].Error)
	}
	c := &view.OperatorCheck{Version: 1, Upgrades: r.Upgrades, Extensions: r.Extensions, CRDSafety: r.CRDSafety, Mirrored: r.Mirrored}
	if form != outputText {
		return a.print(form, c)
	}
	return a.text(c.Text())
}

// nameFlags replaces the names of options in the notes and hints of a report by flags.
func nameFlags(r *proof.Report) {
	for i, note := range r.Notes {
		r.Notes[i] = flagNames(note)
	}
	name := func(problems []proof.Problem) {
		for i := range problems {
			problems[i].Hint = flagNames(problems[i].Hint)
		}
	}
	name(r.Problems)
	for _, u := range r.Updates {
		for _, h := range u.Hops {
			name(h.Problems)
		}
	}
	for _, x := range r.Releases {
		name(x.Problems)
	}
}
