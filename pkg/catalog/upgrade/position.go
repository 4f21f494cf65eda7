package upgrade

import (
	"fmt"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
)

// find returns a package of a catalog, outlined packages included, or nil.
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

// position returns the installed bundle and version of an operator. The version comes from
// the cluster, else from the bundle in a catalog, else from the end of the bundle's name, which a
// note explains. If only the version is known, position chooses the name of a bundle of that version,
// since most edges refer to names.
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
		return at, "the installed version is not in any catalog; only a skipRange can lead to an update", true
	}
	for i := range len(o.Bundle) {
		if o.Bundle[i] != '.' {
			continue
		}
		if v, err := semver.Parse(strings.TrimPrefix(o.Bundle[i+1:], "v")); err == nil {
			at.Version = v
			return at, fmt.Sprintf("its version %s was taken from its name", v), true
		}
	}
	return at, "", false
}
