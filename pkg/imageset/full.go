package imageset

import (
	"fmt"
	"slices"
)

// lowest is the lowest semantic version.
const lowest = "0.0.0-0"

// readFull reads `full: true` of an entry with version ranges as oc mirror does: a range applies to its
// package or channel, and everything else is complete. The entry then has a range for each, from the
// lowest version.
func readFull(r *reader, path string, o *Operator) {
	if !o.Full {
		return
	}
	ranged := false
	for i, p := range o.Packages {
		if len(p.Bundles) > 0 {
			r.fault(fmt.Sprintf("%s.packages[%d].bundles", path, i), "bundles cannot be combined with full: true of the catalog, which selects all of them",
				"remove one of the two")
		}
		ranged = ranged || p.ranged()
	}
	if !ranged {
		return
	}
	fixes := []func(){r.drop(join(path, "full"))}
	for i := range o.Packages {
		p, at := &o.Packages[i], fmt.Sprintf("%s.packages[%d]", path, i)
		switch {
		case !p.Range.IsZero():
		case !p.ranged():
			p.Range.Min = lowest
			fixes = append(fixes, r.insert(at, "name", "minVersion", lowest))
		default:
			for j := range p.Channels {
				if c := &p.Channels[j]; c.Range.IsZero() {
					c.Range.Min = lowest
					fixes = append(fixes, r.insert(fmt.Sprintf("%s.channels[%d]", at, j), "name", "minVersion", lowest))
				}
			}
		}
	}
	o.Full = false
	r.warn(join(path, "full"), "does not apply to what has a version range: the range is used there, and all versions of the rest", fixAll(fixes...))
}

// ranged reports whether the package or one of its channels has a range.
func (p *Package) ranged() bool {
	return !p.Range.IsZero() || slices.ContainsFunc(p.Channels, func(c Channel) bool { return !c.Range.IsZero() })
}
