package upgrade

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
)

// Identify finds the package of operators that do not tell it: where bundles of
// their name are in one package alone, whatever the catalog, it is that one. The
// operators are otherwise as they were, in their order.
func Identify(operators []installed.Operator, catalogs []Catalog) []installed.Operator {
	operators = slices.Clone(operators)
	for i, o := range operators {
		if o.Package != "" || o.Bundle == "" {
			continue
		}
		var packages []string
		for _, k := range catalogs {
			for _, c := range []*catalog.Catalog{k.Kept, k.Source} {
				if c == nil {
					continue
				}
				for _, p := range slices.Concat(c.Packages, c.Outlines) {
					if p.Bundle(o.Bundle) != nil && !slices.Contains(packages, p.Name) {
						packages = append(packages, p.Name)
					}
				}
			}
		}
		if len(packages) == 1 {
			operators[i] = o.In(packages[0])
			operators[i].Notes = append(operators[i].Notes, fmt.Sprintf("it does not tell its package; of the catalogs' packages only %s has a bundle of its name", packages[0]))
		}
	}
	return operators
}

// find is the package of a catalog, which may be outlined.
func find(c *catalog.Catalog, name string) *catalog.Package {
	if c == nil {
		return nil
	}
	if p := c.Package(name); p != nil {
		return p
	}
	for _, p := range c.Outlines {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// position is where an operator stands. Its version is what the cluster says,
// else what a catalog says of the bundle, else what the bundle's name ends with;
// a note says if it is the last. Where only the version is known, its name is that
// of a bundle of that version, since most edges go by names.
func position(o installed.Operator, catalogs []Catalog) (at graph.At, note string, ok bool) {
	at = graph.At{Name: o.Bundle, Release: o.Release}
	v, err := semver.Parse(o.Version)
	if err == nil && o.Bundle != "" {
		at.Version = v
		return at, "", true
	}
	for _, k := range catalogs {
		for _, c := range []*catalog.Catalog{k.Source, k.Kept} {
			p := find(c, o.Package)
			if p == nil {
				continue
			}
			if o.Bundle == "" {
				if bundles := graph.OfVersion(p, v); err == nil && len(bundles) > 0 {
					return graph.Running(bundles[0]), "", true
				}
			} else if b := p.Bundle(o.Bundle); b != nil && b.VersionErr == nil {
				return graph.Running(b), "", true
			}
		}
	}
	if err == nil {
		at.Version = v
		return at, "no catalog has the version that is installed, so that only ranges of versions can lead on", true
	}
	for i := range len(o.Bundle) {
		if o.Bundle[i] != '.' {
			continue
		}
		if v, err := semver.Parse(strings.TrimPrefix(o.Bundle[i+1:], "v")); err == nil {
			at.Version = v
			return at, fmt.Sprintf("its version is not known but by its name: %s", v), true
		}
	}
	return at, "", false
}
