package main

import (
	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/authoring"
)

func (a *app) catalogInitCommand() *cobra.Command {
	var o authoring.InitOptions
	c := &cobra.Command{
		Use:   "init PACKAGE --default-channel CHANNEL",
		Short: "Print an olm.package object for a new package",
		Long: `Print an olm.package object, optionally with a description from a file such as
README.md, and with an icon. Add the channels and bundles after it.

` + exitCodes(nil),
		Example: `  gantry catalog init my-operator --default-channel stable --description README.md --icon icon.svg > catalog/my-operator/package.json
  gantry catalog render -o yaml quay.io/org/my-operator-bundle:v1.0.0 >> catalog/my-operator/bundles.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			o.Package = args[0]
			m, err := authoring.InitPackage(o)
			if err != nil {
				return err
			}
			return view.WriteObject(a.stdout, m, a.format == outputYAML)
		},
	}
	c.Flags().StringVar(&o.DefaultChannel, "default-channel", "", "channel of subscriptions that name none")
	c.Flags().StringVar(&o.Description, "description", "", "file with the description, usually Markdown")
	c.Flags().StringVar(&o.Icon, "icon", "", "file with the icon: SVG, PNG, JPEG or GIF")
	formFlag(c.Flags(), "format of the object: json or yaml", outputJSON, outputYAML)
	return c
}
