package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/authoring"
)

// Validation returns the problems of a catalog, one per line, or the size of a valid catalog.
func Validation(v *authoring.Validation) string {
	if v.Passed {
		return fmt.Sprintf("%s: valid (%s, %s, %s)\n", v.Catalog, Number(v.Packages, "package", "packages"),
			Number(v.Channels, "channel", "channels"), Number(v.Bundles, "bundle", "bundles"))
	}
	var b strings.Builder
	for _, p := range v.Problems {
		position := p.File + textIf(p.Line > 0, ":%d", p.Line)
		fmt.Fprintf(&b, "%s (%s)\n", joined(": ", position, p.Message), p.Rule)
	}
	return b.String()
}
