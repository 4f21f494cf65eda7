package main

import (
	"cmp"
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
	options      check.Options
	platform     bool
	blobs        verifiedBlobs
	archiveTrust trustFlags
	own          *pflag.FlagSet // flags that only --platform uses
}

// addPlatformFlags adds the flags of gantry check --platform.
func (f *checkFlags) addPlatformFlags(all *pflag.FlagSet) {
	all.BoolVar(&f.platform, "platform", false, "check updates of the platform with the content of a mirror")
	f.own = pflag.NewFlagSet("", pflag.ContinueOnError)
	own, o := f.own, &f.options
	addReleaseTrust(own, &o.ReleaseTrust)
	own.StringSliceVar(&o.From, "from", nil, "with --platform and --to: version that clusters run (may be repeated, or with commas)")
	own.StringVar(&o.To, "to", "", "with --platform and --from: version to update to")
	own.StringVar(&o.Channel, "channel", "", "with --to: channel that clusters follow (default: a channel that has the versions, preferably a stable one)")
	own.StringVar(&o.Arch, "arch", "", "with --to: architecture of the clusters, such as arm64 or multi (default: all that the mirror has the versions for)")
	own.IntVar(&o.MaxNestedPaths, "max-nested-paths", 0, "with --platform: the value that the mirror was filled with; 0 is no limit")
	f.blobs.addFlags(own, "blobs of the releases, with --platform")
	addSideFlags(own, &f.Destination, "dest", "mirror of --platform")
	all.AddFlagSet(own)
}

// stray returns an error if a flag is set that only --platform uses.
func (f *checkFlags) stray() error {
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
signatures in a mirror, for the plans in its records, -c or --plan, or --from and --to.
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
	o := &f.options
	addSelection(c.Flags(), &o.Selection, "its updates are checked")
	f.addPlatformFlags(c.Flags())
	f.archiveTrust.addFlags(c.Flags())
	c.Flags().StringVar(&o.Plan, "plan", "", "check this plan, as gantry plan --lock writes it")
	c.Flags().StringVar(&o.ClusterVersion, "cluster-version", "", "version of OpenShift that clusters run or will be updated to, such as 4.20.3 (default: from a ClusterVersion in --installed)")
	repeatable(c.Flags(), &o.ClusterExtension, "cluster-extension", "file with ClusterExtensions to resolve (may be repeated)")
	repeatable(c.Flags(), &o.ClusterCatalog, "cluster-catalog", "file with the ClusterCatalogs of the cluster (may be repeated)")
	c.Flags().BoolVar(&o.CRDSafety, "crd-safety", false, "compare the CustomResourceDefinitions of neighboring bundles by the rules of OLM v1; may read the images of bundles")
	formFlag(c.Flags(), "format of the report: text, json or yaml", outputText, outputJSON, outputYAML)
	return c
}

// read returns the options that the flags set.
func (f *checkFlags) read(a *app, args []string) (check.Options, error) {
	o := f.options
	o.Env, o.Workspace = a.environment(&f.registryFlags), f.workspace
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
	if o.CRDSafety {
		return o, usageHint("run gantry check twice", "--crd-safety is for operators, and --platform for releases")
	}
	if len(args) != 1 || !strings.HasPrefix(args[0], dockerScheme) {
		return o, usageHint("write docker://HOST[:PORT][/PREFIX]", "--platform requires one mirror")
	}
	o.Mirror, o.Blobs, o.ReadBlobs = args[0], f.blobs.requested(), f.blobs.readAll()
	return o, nil
}

func (a *app) check(ctx context.Context, f checkFlags, args []string) error {
	if err := f.blobs.checkArgs(args); err != nil {
		return err
	}
	o, err := f.read(a, args)
	if err != nil {
		return err
	}
	result, err := check.Run(ctx, o)
	if result == nil {
		return err
	}
	return cmp.Or(a.showCheck(result), err)
}

// showCheck prints the result of a check.
func (a *app) showCheck(r *check.Result) error {
	if r.Platform != nil {
		nameFlags(r.Platform)
		return a.result(r.Platform, func() string { return view.PlatformCheck(r.Platform, a.columns()) })
	}
	for i := range r.Extensions {
		r.Extensions[i].Error = flagNames(r.Extensions[i].Error)
	}
	c := &view.OperatorCheck{Version: 1, Upgrades: r.Upgrades, Extensions: r.Extensions, CRDSafety: r.CRDSafety, Mirrored: r.Mirrored}
	return a.result(c, c.Text)
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
