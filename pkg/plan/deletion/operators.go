package deletion

import (
	"cmp"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// operators adds the catalogs and bundles that are selected.
func (s *Selector) operators(p *plan.Plan, c *Choice) {
	for i := range s.delete.Operators {
		op := &s.delete.Operators[i]
		var catalogs []*plan.Catalog
		var names []string
		for j := range p.Catalogs {
			at := &p.Catalogs[j]
			if isCatalog(at, op) || slices.Contains(names, at.VariantOf) && at.VariantOf != "" {
				catalogs, names = append(catalogs, at), append(names, at.Name())
			}
		}
		for j := range p.Catalogs { // variants that are listed before their catalog
			if at := &p.Catalogs[j]; at.VariantOf != "" && slices.Contains(names, at.VariantOf) && !slices.Contains(catalogs, at) {
				catalogs = append(catalogs, at)
			}
		}
		s.found("the catalog "+op.Catalog, op.Pos, len(catalogs) > 0)
		for _, at := range catalogs {
			s.catalog(at, op, c)
		}
	}
	c.wholeCatalogs(p) // a catalog is deleted with its last package
}

// isCatalog reports whether an entry names a catalog of a plan. Without a target, it names the catalog
// whatever its target is.
func isCatalog(c *plan.Catalog, op *imageset.Operator) bool {
	target := strings.TrimSuffix(op.TargetCatalog+":"+op.TargetTag, ":")
	return same(c.Source, op.Catalog) && (target == "" || target == c.Target) || isPinned(c, op)
}

// isPinned reports whether an entry and a catalog of a plan have the same repository and the same tag in the mirror, and one
// of them a digest, as in the pinned configurations of oc mirror. The digest may be of an earlier catalog under this tag.
func isPinned(c *plan.Catalog, op *imageset.Operator) bool {
	want, err := reference.Parse(op.Catalog)
	if err != nil || cmp.Or(op.TargetTag, want.Tag) != c.Tag || op.TargetCatalog != "" && op.TargetCatalog != c.Repository {
		return false
	}
	source, err := reference.Parse(c.Source)
	return err == nil && source.Name() == want.Name() && (source.Digest != "" || want.Digest != "")
}

// bundlesOf returns the names of the bundles of a package, with how many channels have each.
func bundlesOf(p *plan.Package) map[string]int {
	all := map[string]int{}
	for i := range p.Channels {
		for j := range p.Channels[i].Bundles {
			all[p.Channels[i].Bundles[j].Name]++
		}
	}
	return all
}

// catalog adds what an entry selects of a catalog.
func (s *Selector) catalog(at *plan.Catalog, op *imageset.Operator, c *Choice) {
	if len(op.Packages) == 0 {
		c.Catalogs[at.Name()] = true
		for i := range at.Packages {
			for name := range bundlesOf(&at.Packages[i]) {
				c.Bundles[Bundle{at.Name(), at.Packages[i].Name, name}] = true
			}
		}
		return
	}
	for i := range op.Packages {
		want := &op.Packages[i]
		found := false
		for j := range at.Packages {
			if pkg := &at.Packages[j]; pkg.Name == want.Name {
				selected := 0
				for name, channels := range bundlesOf(pkg) {
					n := channelsOf(pkg, name, want)
					if n > 0 {
						selected++
						c.Bundles[Bundle{at.Name(), pkg.Name, name}] = n == channels
					}
				}
				found = selected > 0
			}
		}
		text := "the package " + want.Name + " of " + op.Catalog
		if !want.Range.IsZero() || len(want.Channels)+len(want.Bundles) > 0 {
			text = "what is selected of " + text
		}
		s.found(text, want.Pos, found)
	}
}

// channelsOf returns in how many channels of a package an entry selects a bundle.
func channelsOf(p *plan.Package, name string, want *imageset.Package) int {
	n := 0
	for i := range p.Channels {
		for _, b := range p.Channels[i].Bundles {
			if b.Name == name && selects(want, p.Channels[i].Name, &b) {
				n++
			}
		}
	}
	return n
}

// selects reports whether an entry selects a bundle of a channel.
func selects(want *imageset.Package, channel string, b *plan.Bundle) bool {
	if len(want.Bundles) > 0 {
		return slices.ContainsFunc(want.Bundles, func(named imageset.Bundle) bool { return named.Name == b.Name })
	}
	if !within(want.Range, b.Version) {
		return false
	}
	return len(want.Channels) == 0 || slices.ContainsFunc(want.Channels, func(named imageset.Channel) bool {
		return named.Name == channel && within(named.Range, b.Version)
	})
}

// within reports whether a version is in a range. A version that is not semantic is only in an open range.
func within(r imageset.Range, version string) bool {
	if r.IsZero() {
		return true
	}
	v, err := semver.Parse(version)
	if err != nil {
		return false
	}
	if low, err := semver.Parse(r.Min); err == nil && v.LT(low) {
		return false
	}
	high, err := semver.Parse(r.Max)
	return err != nil || v.LTE(high)
}
