package filter

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// outlines returns what is kept of the outlined packages if the selection names no packages. One
// that cannot be filtered is skipped here; it is an error when it is read completely.
func outlines(c *catalog.Catalog, op imageset.Operator, required []Required) []*catalog.Package {
	var kept []*catalog.Package
	for _, p := range c.Outlines {
		s := newSelection(p, imageset.Package{Pos: op.Pos, Name: p.Name}, op.Full)
		s.required = requiredOf(p, required)
		s.installed(op.Installed)
		if err := s.run(); err != nil || len(s.problems) > 0 {
			continue
		}
		if p, err := s.build(); err == nil {
			kept = append(kept, p)
		}
	}
	return kept
}

// outlined reports whether the catalog has only the outline of a package.
func outlined(c *catalog.Catalog, name string) bool {
	return slices.ContainsFunc(c.Outlines, func(p *catalog.Package) bool { return p.Name == name })
}

// requiredOf returns what others need of a package.
func requiredOf(p *catalog.Package, required []Required) []Required {
	return slices.DeleteFunc(slices.Clone(required), func(r Required) bool { return r.Package != p.Name })
}
