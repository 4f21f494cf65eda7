package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/remote"
)

func (a *app) listCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "List what there is to mirror",
		Long:  "List shows what may be named in a configuration.\n\n" + exitStatusHelp,
		Example: `  gantry list operators --catalogs --version 4.20
  gantry list operators --catalog quay.io/org/catalog:v4.20
  gantry list releases --channel stable-4.20`,
		Args: verbArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(a.listOperatorsCommand(), a.listReleasesCommand())
	for _, verb := range c.Commands() {
		verb.Args = usageArgs(verb.Args)
	}
	return c
}

// listFlags are those of gantry list operators, with the names that they have in
// oc mirror.
type listFlags struct {
	readFlags
	catalogs                            bool
	version                             string
	catalog, packageName, channel, form string
}

func (a *app) listOperatorsCommand() *cobra.Command {
	var f listFlags
	c := &cobra.Command{
		Use:   "operators {--catalogs --version X.Y | --catalog CATALOG [--package PACKAGE [--channel CHANNEL]]}",
		Short: "List catalogs, packages of a catalog, bundles of a package",
		Long: `Operators lists what oc mirror list operators lists: with --catalogs the catalogs
that exist for a version of OpenShift, with --catalog the packages of one, with
--package the bundles of a package by channel.

` + catalogHelp + `
` + exitStatusHelp,
		Example: `  gantry list operators --catalogs --version 4.20
  gantry list operators --catalog registry.redhat.io/redhat/redhat-operator-index:v4.20
  gantry list operators --catalog quay.io/org/catalog:v4.20 --package my-operator --channel stable`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case f.catalogs == (f.catalog != ""):
				return usagef("what is to be listed? give --catalogs with --version, or --catalog")
			case f.catalogs && f.packageName+f.channel != "":
				return usagef("--package and --channel are for --catalog: name the one to look into")
			case f.catalogs:
				return a.listCatalogs(cmd.Context(), f)
			case f.version != "":
				return usagef("--version is for --catalogs: the tag of %s says which version is listed", f.catalog)
			}
			return a.listOperators(cmd.Context(), f.readFlags, f.form, f.catalog, f.packageName, f.channel)
		},
	}
	f.addFlags(c.Flags())
	c.Flags().BoolVar(&f.catalogs, "catalogs", false, "list the catalogs of a version of OpenShift")
	c.Flags().StringVar(&f.version, "version", "", "version of OpenShift, such as 4.20, with --catalogs")
	c.Flags().StringVar(&f.catalog, "catalog", "", "list the packages of this catalog")
	c.Flags().StringVar(&f.packageName, "package", "", "list the bundles of this package")
	c.Flags().StringVar(&f.channel, "channel", "", "only this channel of the package")
	formFlag(c.Flags(), &f.form, "form of the list: text, json or yaml", outputText, outputJSON, outputYAML)
	return c
}

// catalogsOf are the catalogs that OpenShift has set up for it (OperatorHub
// defaults), without their tag.
var catalogsOf = [...]string{
	"registry.redhat.io/redhat/redhat-operator-index",
	"registry.redhat.io/redhat/certified-operator-index",
	"registry.redhat.io/redhat/community-operator-index",
	"registry.redhat.io/redhat/redhat-marketplace-index",
}

var minorVersion = regexp.MustCompile(`^[0-9]+\.[0-9]+$`)

// listCatalogs asks which catalogs exist for a version. One that does not is left
// out; that there is none, or that one cannot be asked for, is an error.
func (a *app) listCatalogs(ctx context.Context, f listFlags) error {
	if err := a.form(f.form, outputText, outputJSON, outputYAML); err != nil {
		return err
	}
	if !minorVersion.MatchString(f.version) {
		return usagef("--version %q: give the version of OpenShift as 4.20", f.version)
	}
	r, err := a.read(&f.readFlags)
	if err != nil {
		return err
	}
	defer a.done(r)
	found := []string{}
	var problems []error
	for _, name := range catalogsOf {
		ref := name + ":v" + f.version
		switch _, _, err := r.origin.Manifest(ctx, ref, ""); {
		case err == nil:
			found = append(found, ref)
		case !errors.Is(err, remote.ErrNotFound):
			problems = append(problems, fmt.Errorf("looking for %s: %w", ref, err))
		}
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	if len(found) == 0 {
		return usagef("--version %s: there is no catalog for it at registry.redhat.io; is it the version of an OpenShift that was released?", f.version)
	}
	if f.form != outputText {
		return a.print(f.form, struct {
			Version  int      `json:"version"`
			Catalogs []string `json:"catalogs"`
		}{1, found})
	}
	return a.text(lines(found))
}
