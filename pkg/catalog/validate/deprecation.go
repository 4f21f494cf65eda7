package validate

import (
	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// deprecations checks the deprecations of a package. channels are the names of its channels.
func (r *report) deprecations(p *catalog.Package, channels map[string]bool) {
	if len(p.Deprecations) == 0 {
		return
	}
	bundles := make(map[string]bool, len(p.Bundles))
	for _, b := range p.Bundles {
		bundles[b.Name] = true
	}
	for _, d := range p.Deprecations[1:] {
		r.add(DeprecationTwice, d.Meta, "package %q has a second olm.deprecations; only one is allowed", p.Name)
	}
	d := p.Deprecations[0]
	type target struct{ schema, name string }
	seen := map[target]bool{}
	for i, e := range d.Entries {
		t := target{e.Schema, e.Name}
		if seen[t] {
			r.add(DeprecationTwice, d.Meta, "package %q: deprecation entries[%d] duplicates an earlier entry: %s %s", p.Name, i, e.Schema, e.Name)
			continue
		}
		seen[t] = true
		if e.Message == "" {
			r.add(DeprecationText, d.Meta, "package %q: deprecation entries[%d] has no message", p.Name, i)
		}
		switch e.Schema {
		case "":
			r.add(DeprecationTarget, d.Meta, "package %q: deprecation entries[%d] has no schema", p.Name, i)
		case catalog.SchemaPackage:
			if e.Name != "" {
				r.add(DeprecationTarget, d.Meta, "package %q: deprecation entries[%d] refers to the package and must not have a name, but has %q", p.Name, i, e.Name)
			}
		case catalog.SchemaChannel:
			if !channels[e.Name] {
				r.add(DeprecationTarget, d.Meta, "package %q deprecates the channel %q, which does not exist", p.Name, e.Name)
			}
		case catalog.SchemaBundle:
			if !bundles[e.Name] {
				r.add(DeprecationTarget, d.Meta, "package %q deprecates the bundle %q, which does not exist", p.Name, e.Name)
			}
		default:
			r.add(DeprecationTarget, d.Meta, "package %q: deprecation entries[%d] refers to schema %q, but only packages, channels and bundles can be deprecated", p.Name, i, e.Schema)
		}
	}
}
