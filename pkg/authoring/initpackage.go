package authoring

import (
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/author"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// InitOptions describes the package that InitPackage makes.
type InitOptions struct {
	// Package is its name.
	Package string
	// DefaultChannel is the channel of subscriptions that name none.
	DefaultChannel string
	// Description is a file with the description, usually Markdown. The default is none.
	Description string
	// Icon is a file with the icon: SVG, PNG, JPEG or GIF. The default is none.
	Icon string
}

// maxPartSize is the maximum size of a description or icon, in bytes.
const maxPartSize = 1 << 20

// InitPackage returns an olm.package object for a new package.
func InitPackage(o InitOptions) (*catalog.Meta, error) {
	text := author.PackageText{Name: o.Package, DefaultChannel: o.DefaultChannel}
	description, err := readPart("Options.Description", o.Description)
	if err == nil {
		text.Icon, err = readPart("Options.Icon", o.Icon)
	}
	if err != nil {
		return nil, err
	}
	text.Description = string(description)
	m, err := author.Package(text)
	if err != nil {
		hint := "see gantry catalog init --help"
		if o.DefaultChannel == "" {
			hint = "name it with Options.DefaultChannel"
		}
		return nil, advice.Wrap(advice.Input, err, hint)
	}
	return m, nil
}

// readPart reads the file that an option names. It returns nil if the option is not set.
func readPart(option, name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	data, _, err := regular.ReadInput(name, maxPartSize)
	switch {
	case err != nil:
		return nil, env.Inputf("%s: %w", option, err)
	case len(data) == 0:
		return nil, env.Inputf("%s: %s is empty", option, name)
	}
	return data, nil
}
