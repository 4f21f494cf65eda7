package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror/contents"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/catalog/source"
	"github.com/gantry-mirror/gantry/pkg/env"
)

// contentsFlags are the flags of gantry list for what catalogs, mirrors and archives have.
type contentsFlags struct {
	registryFlags
	archive archiveFlags
	options contents.Options
}

// addPlaces adds the flags for mirrors and archives.
func (f *contentsFlags) addPlaces(c *cobra.Command) {
	f.archive.addFlags(c.Flags())
	c.Flags().StringVar(&f.options.At, "at", "", "docker://HOST[:PORT][/PREFIX]: show whether this mirror has it, by its records")
	addNestedPaths(c.Flags(), &f.options.MaxNestedPaths)
}

// addCatalogs adds the flags for catalogs.
func (f *contentsFlags) addCatalogs(c *cobra.Command) {
	repeatable(c.Flags(), &f.options.Catalog, "catalog", "read this catalog (may be repeated)")
	c.Flags().StringVarP(&f.options.Config, "config", "c", "", "read the catalogs that this ImageSetConfiguration names, whole")
	c.Flags().StringVar(&f.options.OpenShift, "version", "", "read the catalogs of this version of OpenShift, such as 4.20")
	c.Flags().BoolVar(&f.options.Sizes, "sizes", false, "ask the registries of catalogs how large images are, with all platforms, and which bundles have webhooks")
}

// placesHelp describes the arguments of gantry list.
const placesHelp = `FROM is one of:
  docker://HOST[:PORT][/PREFIX]    a mirror, by its records, or by what its registry lists
  file://DIR...                    an archive, with the folders that it builds on
`

// wordsHelp describes words.
const wordsHelp = `A WORD is a part of a name. With * (any text) or ? (one character) it is the whole name.
Case does not matter. What matches one of the words is listed.
`

// installHelp describes the column OLM V1.
const installHelp = `OLM V1 says whether a ClusterExtension can install it, and -o wide why not:
  yes       nothing is against it
  no        no version of OLM v1 installs it
  depends   on the version of OLM v1, its feature gates or a watchNamespace
  probably  if it has no webhooks, which OpenShift before 4.21 refuses and new catalogs do not
            show: the bundles of mirrors and archives, and with --sizes of catalogs, are read
  unknown   the catalog does not have the ClusterServiceVersion
`

// A listFunc lists one kind of object.
type listFunc func(context.Context, contents.Options) (*contents.List, error)

// listContents completes a command of gantry list, whose Use is what it lists. catalogs says whether these have it.
func (a *app) listContents(c *cobra.Command, catalogs bool, list listFunc) *cobra.Command {
	var f contentsFlags
	object, _, _ := strings.Cut(c.Use, " ")
	places := "[FROM...] [WORD...]"
	if !catalogs {
		places = "FROM... [WORD...]"
	}
	c.Use = object + " " + places
	f.registryFlags.addFlags(c.Flags())
	f.addCacheDir(c.Flags())
	c.Flags().StringVar(&f.options.Workspace, "workspace", env.DefaultWorkspace, "folder whose cache is used, if it exists")
	f.addPlaces(c)
	if catalogs {
		f.addCatalogs(c)
		c.Long += "\n\n" + placesHelp + "or a catalog, as --catalog and these flags name one:\n" + strings.TrimPrefix(catalogHelp, "CATALOG is one of:\n")
	} else {
		c.Long += "\n\n" + placesHelp
	}
	c.Long += "\n" + wordsHelp + "\n" + exitCodes(map[int]string{exitUnauthorized: helpUnauthorized, exitMismatch: helpArchive})
	formFlag(c.Flags(), "format of the list: text, wide (with more columns), json or yaml", outputText, outputWide, outputJSON, outputYAML)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return a.runContents(cmd, &f, args, list)
	}
	return c
}

// runContents lists what the arguments select.
func (a *app) runContents(cmd *cobra.Command, f *contentsFlags, args []string, list listFunc) error {
	o := f.options
	for _, arg := range args {
		sortPlace(&o, arg, cmd.Name() != "images" && cmd.Name() != "files")
	}
	if len(o.Catalog) > len(f.options.Catalog) && cmd.Flags().Lookup("catalog") == nil {
		return usageHint("name docker://HOST[:PORT][/PREFIX] or file://DIR", "a catalog has no %s: %q", cmd.Name(), redact.Text(o.Catalog[0]))
	}
	if !cmd.Flags().Changed("retry-times") {
		f.RetryTimes = statusRetries
	}
	var err error
	if o.Read, err = a.reading(&f.archive.trust); err != nil {
		return err
	}
	o.Env, o.Sequence = a.environment(&f.registryFlags), f.archive.sequence
	found, err := list(cmd.Context(), o)
	return show(a, found, err, func(l *contents.List) string { return view.Contents(l, a.format == outputWide, a.columns()) })
}

// sortPlace adds an argument to the mirrors, archives, catalogs or words. A path is a catalog, and if paths is set, so is any
// word with a slash.
func sortPlace(o *contents.Options, arg string, paths bool) {
	registry, isRegistry := strings.CutPrefix(arg, env.RegistryScheme)
	_, path, _ := strings.Cut(registry, "/")
	switch {
	case strings.HasPrefix(arg, env.ArchiveScheme):
		o.Archives = append(o.Archives, arg)
	case isRegistry && !strings.ContainsAny(path, ":@"):
		o.Mirrors = append(o.Mirrors, arg)
	case isRegistry, strings.HasPrefix(arg, source.DirScheme), strings.HasPrefix(arg, env.LayoutScheme), paths && strings.Contains(arg, "/"), strings.HasPrefix(arg, "/"), strings.HasPrefix(arg, "./"), strings.HasPrefix(arg, "../"):
		o.Catalog = append(o.Catalog, arg)
	default:
		o.Words = append(o.Words, arg)
	}
}

// packageFlags adds the flags that select what belongs to packages.
func packageFlags(c *cobra.Command, list listFunc) listFunc {
	var pkg string
	var apis []string
	c.Flags().StringVar(&pkg, "package", "", "list only what belongs to the package of this name; * and ? as in a WORD")
	if c.Use != "images" {
		repeatable(c.Flags(), &apis, "api", "list only what owns this API, KIND or KIND.GROUP/VERSION; * and ? as in a WORD (may be repeated)")
	}
	return func(ctx context.Context, o contents.Options) (*contents.List, error) {
		o.Package, o.APIs = pkg, apis
		return list(ctx, o)
	}
}

func (a *app) listPackagesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "packages",
		Short: "List packages: versions, whether OLM v1 installs them, APIs, sizes, disks",
		Long:  "List the packages of catalogs, mirrors and archives by name or display name. VERSION, MODES,\nAPIS and FEATURES are those of the head of the default channel; IMAGES and SIZE are of all\nbundles. " + installHelp,
		Example: `  gantry list packages 'logging*' --version 4.20
  gantry list packages ./catalog --api Kafka -o wide
  gantry list packages file:///media/disk
  gantry list packages -c imageset.yaml --at docker://mirror.example.com:5000`,
	}
	return a.listContents(c, true, packageFlags(c, contents.Packages))
}

func (a *app) listChannelsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "channels",
		Short: "List channels: heads, versions, sizes",
		Long:  "List the channels of packages by their name or the name of the package. OLM V1, MODES, APIS\nand FEATURES are those of the head; SIZE is of all bundles of the channel. " + installHelp,
		Example: `  gantry list channels quay.io/org/catalog:v4.20 my-operator
  gantry list channels docker://mirror.example.com:5000 'stable*' -o json`,
	}
	return a.listContents(c, true, packageFlags(c, contents.Channels))
}

func (a *app) listBundlesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "bundles",
		Short: "List bundles: versions, channels, install modes, APIs, images, sizes",
		Long:  "List bundles by name, version or package, newest first. " + installHelp,
		Example: `  gantry list bundles quay.io/org/catalog:v4.20 --package my-operator --sizes
  gantry list bundles file:///media/disk 'my-operator.v1.2*' -o wide`,
	}
	return a.listContents(c, true, packageFlags(c, contents.Bundles))
}

func (a *app) listCatalogsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "catalogs",
		Short: "List catalogs with the numbers of their packages, bundles and images",
		Long:  "List catalogs of a configuration, of a version of OpenShift, of mirrors and archives.",
		Example: `  gantry list catalogs --version 4.20
  gantry list catalogs docker://mirror.example.com:5000`,
	}
	return a.listContents(c, true, contents.Catalogs)
}

func (a *app) listImagesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "images",
		Short: "List images of mirrors, archives and catalogs, with who needs them",
		Long:  "List images by name, digest or source, and by the packages and bundles that need them.\nA catalog has those that its bundles list.",
		Example: `  gantry list images docker://mirror.example.com:5000 '*/etcd:*'
  gantry list images file:///media/disk --package my-operator -o wide
  gantry list images --catalog quay.io/org/catalog:v4.20 --sizes`,
	}
	return a.listContents(c, true, packageFlags(c, contents.Images))
}

func (a *app) listFilesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "files",
		Short:   "List files of mirrors and archives; gantry get writes one",
		Long:    "List the files of mirrors and archives by name or origin. gantry get writes one.",
		Example: `  gantry list files file:///media/disk '*.iso'`,
	}
	return a.listContents(c, false, contents.Files)
}

func (a *app) listChartsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "charts",
		Short:   "List Helm charts of mirrors and archives, with their images",
		Long:    "List the Helm charts of mirrors and archives by name or origin. SIZE has the images of a chart.",
		Example: `  gantry list charts docker://mirror.example.com:5000`,
	}
	return a.listContents(c, false, contents.Charts)
}

// addMirroredReleases makes gantry list releases list those of mirrors and archives, if arguments name one.
func addMirroredReleases(a *app, c *cobra.Command, registries *registryFlags, query []string) {
	f := contentsFlags{}
	f.addPlaces(c)
	addSideFlags(c.Flags(), &registries.Destination, "dest", "destination")
	run := c.RunE
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			for _, name := range []string{"at", "sequence", "max-nested-paths"} {
				if cmd.Flags().Changed(name) {
					return usageHint("name one: docker://HOST[:PORT][/PREFIX] or file://DIR", "--%s is for the releases of a mirror or an archive", name)
				}
			}
			if a.format == outputWide {
				return usageHint("give one of text, json, yaml", "-o wide is for the releases of a mirror or an archive")
			}
			return run(cmd, args)
		}
		if !slices.ContainsFunc(args, func(arg string) bool { return strings.Contains(arg, "://") }) {
			return usageHint("name it, docker://HOST[:PORT][/PREFIX] or file://DIR, or leave the word out", "%q selects releases of a mirror or an archive", redact.Text(args[0]))
		}
		for _, name := range query {
			if cmd.Flags().Changed(name) {
				return usageHint("leave out the flag, or "+redact.Text(args[0]), "--%s asks an update service, and a mirror or an archive is listed", name)
			}
		}
		f.registryFlags = *registries
		return a.runContents(cmd, &f, args, contents.Releases)
	}
}
