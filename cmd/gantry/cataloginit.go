package main

import (
	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/authoring"
)

// initFlags are the flags of gantry catalog init.
type initFlags struct {
	channel, description, icon, form string
}

func (a *app) catalogInitCommand() *cobra.Command {
	var f initFlags
	c := &cobra.Command{
		Use:   "init PACKAGE --default-channel CHANNEL",
		Short: "Print an olm.package object for a new package",
		Long: `Print an olm.package object, optionally with a description from a file such as
README.md, and with an icon. Add the channels and bundles after it.

` + exitCodes(nil),
		Example: `  gantry catalog init my-operator --default-channel stable --description README.md --icon icon.svg > catalog/my-operator/package.json
  gantry catalog render -o yaml quay.io/org/my-operator-bundle:v1.0.0 >> catalog/my-operator/bundles.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.catalogInit(f, args[0]) },
	}
	c.Flags().StringVar(&f.channel, "default-channel", "", "channel of subscriptions that name none")
	c.Flags().StringVar(&f.description, "description", "", "file with the description, usually Markdown")
	c.Flags().StringVar(&f.icon, "icon", "", "file with the icon: SVG, PNG, JPEG or GIF")
	formFlag(c.Flags(), &f.form, "format of the object: json or yaml", outputJSON, outputYAML)
	return c
}

func (a *app) catalogInit(f initFlags, name string) error {
	if err := a.form(f.form, outputJSON, outputYAML); err != nil {
		return err
	}
	m, err := authoring.InitPackage(authoring.InitOptions{Package: name, DefaultChannel: f.channel, Description: f.description, Icon: f.icon})
	if err != nil {
		return err
	}
	return view.WriteObject(a.stdout, m, f.form == outputYAML)
}
