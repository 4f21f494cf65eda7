package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/authoring"
	"github.com/gantry-mirror/gantry/pkg/catalog/author"
	"github.com/gantry-mirror/gantry/pkg/catalog/source"
)

// deprecateFlags are the flags of gantry catalog deprecate.
type deprecateFlags struct {
	channel, bundle, message, form string
	remove                         bool
}

func (a *app) catalogDeprecateCommand() *cobra.Command {
	var f deprecateFlags
	c := &cobra.Command{
		Use:   "deprecate DIR PACKAGE [--channel CHANNEL | --bundle BUNDLE] {--message TEXT | --remove}",
		Short: "Mark a package, channel or bundle of a catalog folder as deprecated",
		Long: `Add an entry to olm.deprecations in the files of a file-based catalog, replace it, or
remove it. Other objects do not change. In YAML, the comments of the changed document
are lost.

` + exitCodes(nil),
		Example: `  gantry catalog deprecate ./catalog my-operator --bundle my-operator.v1.2.0 --message "use 1.2.1: 1.2.0 loses data"
  gantry catalog deprecate ./catalog my-operator --channel alpha --message "use stable"
  gantry catalog deprecate ./catalog my-operator --channel alpha --remove`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.catalogDeprecate(cmd.Context(), f, strings.TrimPrefix(args[0], source.DirScheme), args[1])
		},
	}
	c.Flags().StringVar(&f.channel, "channel", "", "deprecate this channel of the package")
	c.Flags().StringVar(&f.bundle, "bundle", "", "deprecate this bundle of the package")
	c.Flags().StringVar(&f.message, "message", "", "message to users")
	c.Flags().BoolVar(&f.remove, "remove", false, "remove the deprecation")
	formFlag(c.Flags(), &f.form, "format of the result: text or json", outputText, outputJSON)
	return c
}

func (a *app) catalogDeprecate(ctx context.Context, f deprecateFlags, dir, name string) error {
	if err := a.form(f.form, outputText, outputJSON); err != nil {
		return err
	}
	switch {
	case f.remove == (f.message != ""):
		return usagef("give either --message TEXT or --remove")
	case f.channel != "" && f.bundle != "":
		return usagef("give --channel or --bundle, not both")
	}
	target := author.Target{Channel: f.channel, Bundle: f.bundle}
	if err := authoring.DeprecateCatalog(ctx, authoring.DeprecateOptions{Folder: dir, Package: name, Target: target, Message: f.message}); err != nil {
		return err
	}
	if a.output == outputJSON {
		return a.encode(deprecatedDocument{1, name, f.channel, f.bundle, !f.remove})
	}
	what := "is deprecated"
	if f.remove {
		what = "is no longer deprecated"
	}
	return a.text(fmt.Sprintf("package %q: %s %s\n", name, target, what))
}

// A deprecatedDocument is what gantry catalog deprecate -o json prints.
type deprecatedDocument struct {
	Version int    `json:"version"`
	Package string `json:"package"`
	// Channel or Bundle is what is deprecated; without both, it is the package.
	Channel string `json:"channel,omitempty"`
	Bundle  string `json:"bundle,omitempty"`
	// Deprecated is false if the deprecation was removed.
	Deprecated bool `json:"deprecated"`
}
