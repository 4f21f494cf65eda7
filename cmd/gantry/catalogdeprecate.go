package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/authoring"
	"github.com/gantry-mirror/gantry/pkg/catalog/source"
)

func (a *app) catalogDeprecateCommand() *cobra.Command {
	var o authoring.DeprecateOptions
	var remove bool
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
			o.Folder, o.Package = strings.TrimPrefix(args[0], source.DirScheme), args[1]
			return a.catalogDeprecate(cmd.Context(), o, remove)
		},
	}
	c.Flags().StringVar(&o.Target.Channel, "channel", "", "deprecate this channel of the package")
	c.Flags().StringVar(&o.Target.Bundle, "bundle", "", "deprecate this bundle of the package")
	c.Flags().StringVar(&o.Message, "message", "", "message to users")
	c.Flags().BoolVar(&remove, "remove", false, "remove the deprecation")
	formFlag(c.Flags(), "format of the result: text or json", outputText, outputJSON)
	return c
}

func (a *app) catalogDeprecate(ctx context.Context, o authoring.DeprecateOptions, remove bool) error {
	switch {
	case remove == (o.Message != ""):
		return usagef("give either --message TEXT or --remove")
	case o.Target.Channel != "" && o.Target.Bundle != "":
		return usagef("give --channel or --bundle, not both")
	}
	if err := authoring.DeprecateCatalog(ctx, o); err != nil {
		return err
	}
	what := "is deprecated"
	if remove {
		what = "is no longer deprecated"
	}
	return a.result(deprecatedDocument{1, o.Package, o.Target.Channel, o.Target.Bundle, !remove}, func() string {
		return fmt.Sprintf("package %q: %s %s\n", o.Package, o.Target, what)
	})
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
