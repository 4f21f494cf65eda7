package main

import (
	"bufio"
	"os"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/catalog/author"
)

// initFlags are those of gantry catalog init.
type initFlags struct {
	channel, description, icon, form string
}

// maxPart is the largest description or icon, in bytes.
const maxPart = 1 << 20

func (a *app) catalogInitCommand() *cobra.Command {
	var f initFlags
	c := &cobra.Command{
		Use:   "init PACKAGE --default-channel CHANNEL",
		Short: "Print the object that begins a package",
		Long: `Init prints an olm.package object, with a description from a file such as a
README.md and an icon (SVG, PNG, JPEG or GIF). Channels and bundles follow it.

` + exitStatusHelp,
		Example: `  gantry catalog init my-operator --default-channel stable --description README.md --icon icon.svg > catalog/my-operator/package.json
  gantry catalog render -o yaml quay.io/org/my-operator-bundle:v1.0.0 >> catalog/my-operator/bundles.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.catalogInit(f, args[0]) },
	}
	c.Flags().StringVar(&f.channel, "default-channel", "", "channel of those who name none")
	c.Flags().StringVar(&f.description, "description", "", "file with the description, mostly Markdown")
	c.Flags().StringVar(&f.icon, "icon", "", "file with the icon: SVG, PNG, JPEG or GIF")
	formFlag(c.Flags(), &f.form, "form of the object: json or yaml", outputJSON, outputYAML)
	return c
}

func (a *app) catalogInit(f initFlags, name string) error {
	if err := a.form(f.form, outputJSON, outputYAML); err != nil {
		return err
	}
	text := author.PackageText{Name: name, DefaultChannel: f.channel}
	description, err := part("--description", f.description)
	if err == nil {
		text.Icon, err = part("--icon", f.icon)
	}
	if err != nil {
		return err
	}
	text.Description = string(description)
	m, err := author.Package(text)
	if err != nil {
		return &usageError{err}
	}
	out := bufio.NewWriter(a.stdout)
	if err := writeObject(out, m, f.form); err != nil {
		return err
	}
	return out.Flush()
}

// part reads a file that a flag names, if it does.
func part(flag, name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, usagef("%s: %w", flag, err)
	case !info.Mode().IsRegular() || info.Size() > maxPart:
		return nil, usagef("%s: %s is not a regular file below %d bytes", flag, name, maxPart)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, usagef("%s: %w", flag, err)
	}
	if len(data) == 0 {
		return nil, usagef("%s: %s is empty", flag, name)
	}
	return data, nil
}
