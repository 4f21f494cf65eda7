package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/config"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
)

// draftFlags are the flags of the commands that make configurations.
type draftFlags struct {
	options  config.DraftOptions
	catalogs []string
	to       string
}

func (f *draftFlags) addFlags(fs *pflag.FlagSet, names string) {
	fs.BoolVar(&f.options.Pinned, "pinned", false, "select exactly these versions, and nothing newer")
	repeatable(fs, &f.catalogs, "catalogs", "where a catalog comes from, NAME=REFERENCE, with the name of "+names+" (may be repeated)")
	fs.StringVar(&f.to, "to", "", "file to write (default: stdout)")
}

// read returns the options that the flags set.
func (f *draftFlags) read() (config.DraftOptions, error) {
	o := f.options
	if err := checkOutputFile("to", f.to); err != nil {
		return o, err
	}
	o.Catalogs = map[string]string{}
	for _, text := range f.catalogs {
		name, ref, ok := strings.Cut(text, "=")
		if !ok || name == "" || ref == "" {
			return o, usageHint("write NAME=REFERENCE, such as --catalogs my-catalog=quay.io/org/catalog:v1", "--catalogs %q", text)
		}
		if _, given := o.Catalogs[name]; given {
			return o, usageHint("give one", "--catalogs names %q twice", name)
		}
		o.Catalogs[name] = ref
	}
	return o, nil
}

func (a *app) configFromClusterCommand() *cobra.Command {
	var f draftFlags
	c := &cobra.Command{
		Use:   "from-cluster FILE...",
		Short: "Make a configuration from what a cluster runs",
		Long: `Make an ImageSetConfiguration for what clusters run. For each operator, it selects the
channel that the cluster follows, from the installed version to the head; for the
platform, the update path from the running release to the head of its channel. With
--pinned, it selects the installed versions alone.

FILE is the output, or "-" for stdin, of
  oc get csv,subscription,catalogsource,clusterextension,clustercatalog,clusterversion,\
    imagedigestmirrorset -A -o json
Mirror sets in it say where the catalogs of a mirror come from. No registry is needed.
Review the result.

` + exitCodes(map[int]string{exitUsage: "a file cannot be read, the source of a catalog is unknown,\nor flags are wrong"}),
		Example: `  gantry config from-cluster cluster.json --to imageset.yaml
  gantry config from-cluster --pinned cluster1.json cluster2.json > imageset.yaml`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			o, err := f.read()
			if err != nil {
				return err
			}
			for _, name := range args {
				if name == toStdout {
					name = "/dev/stdin"
				}
				o.Objects = append(o.Objects, name)
			}
			d, err := config.FromCluster(o)
			return a.showDraft(&f, d, err)
		},
	}
	f.addFlags(c.Flags(), "a CatalogSource, a ClusterCatalog or a package")
	return c
}

func (a *app) configFromMirrorCommand() *cobra.Command {
	var f draftFlags
	var s registryFlags
	var trust trustFlags
	c := &cobra.Command{
		Use:   "from-mirror {docker://HOST[:PORT][/PREFIX] | file://DIR...}",
		Short: "Make a configuration from what a mirror or an archive has",
		Long: `Make an ImageSetConfiguration for what a mirror has. An archive contains its plan; the
workspace that was used for a registry and the records in the registry have it: the
configuration is the one that they were made from. Without a plan, or with --catalogs, the
registry is searched for catalogs and platform releases, whatever tool mirrored them:
operators are selected from the lowest version in the mirror to the head, releases from the
lowest to the head of the stable channel.
With --pinned, only what the mirror has is selected. Review the result.

` + exitCodes(map[int]string{exitUsage: "the source of a catalog is unknown, or flags are wrong", exitMismatch: helpArchive, exitUnauthorized: helpUnauthorized}),
		Example: `  gantry config from-mirror docker://mirror.example.com:5000/ocp --to imageset.yaml
  gantry config from-mirror file:///media/disk
  gantry config from-mirror docker://mirror.example.com --catalogs my/index=quay.io/my/index:v1`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.options.Mirror = args
			return a.configFromMirror(cmd.Context(), &f, &s, &trust)
		},
	}
	f.addFlags(c.Flags(), "a repository in the mirror")
	s.addFlags(c.Flags())
	trust.addFlags(c.Flags())
	c.Flags().StringVar(&f.options.Workspace, "workspace", env.DefaultWorkspace, "folder that was used for the mirror")
	return c
}

func (a *app) configFromMirror(ctx context.Context, f *draftFlags, s *registryFlags, trust *trustFlags) error {
	o, err := f.read()
	if err != nil {
		return err
	}
	reads := !strings.HasPrefix(o.Mirror[0], env.RegistryScheme)
	if err := trust.check(reads); err != nil {
		return err
	}
	if reads {
		if o.Read, err = a.reading(trust); err != nil {
			return err
		}
	}
	o.Env = a.environment(s)
	d, err := config.FromMirror(ctx, o)
	return a.showDraft(f, d, err)
}

// showDraft writes a configuration, and its notes to stderr.
func (a *app) showDraft(f *draftFlags, d *config.Draft, err error) error {
	if err != nil {
		return err
	}
	for _, note := range d.Notes {
		a.say("%s", view.Printable(note))
	}
	if f.to != "" {
		if err := durable.WriteFile(f.to, d.YAML); err != nil {
			return err
		}
		if a.output != outputJSON {
			return nil
		}
	}
	if a.format == outputText {
		return a.documents(d.YAML, nil)
	}
	return a.result(d, nil)
}
