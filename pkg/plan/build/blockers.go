package build

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// withBlockers returns the update paths with the operators that block their hops, and notes about
// them. An operator blocks a hop to another minor version if none of its bundles in the plan runs
// there: while it is installed, the cluster refuses the update.
func withBlockers(updates []plan.UpdatePath, catalogs []*selectedCatalog) (blocked []plan.UpdatePath, notes []string) {
	blocked = slices.Clone(updates)
	for i := range blocked {
		hops := slices.Clone(blocked[i].Hops)
		for j := range hops {
			h := &hops[j]
			if !h.NextMinor() {
				continue
			}
			to, err := semver.ParseTolerant(release.Minor(h.To))
			if err != nil {
				continue // To is a version, so this cannot happen
			}
			for _, c := range catalogs {
				h.Blockers = append(h.Blockers, blockers(c.entry.Name(), c.result.Catalog, to)...)
			}
			for _, b := range h.Blockers {
				notes = append(notes, plan.BlockerNote(b, *h))
			}
		}
		blocked[i].Hops = hops
	}
	return blocked, notes
}

// blockers returns the packages of a catalog that have no bundle for a minor version.
func blockers(name string, c *catalog.Catalog, to semver.Version) []plan.Blocker {
	var all []plan.Blocker
	for _, pkg := range c.Packages {
		var best *catalog.Bundle
		var highest semver.Version
		compatible := false
		for i := range pkg.Bundles {
			b := pkg.Bundles[i]
			limit, ok := maxOpenShift(b)
			if !ok || limit.GE(to) {
				compatible = true
				break
			}
			if best == nil || limit.GT(highest) {
				best, highest = b, limit
			}
		}
		if !compatible && best != nil {
			all = append(all, plan.Blocker{Catalog: name, Package: pkg.Name, Bundle: best.Name, Max: fmt.Sprintf("%d.%d", highest.Major, highest.Minor)})
		}
	}
	return all
}

// maxOpenShift returns a bundle's olm.maxOpenShiftVersion. Only major and minor count
// (operator-lifecycle-manager, openshift.incompatibleOperators).
func maxOpenShift(b *catalog.Bundle) (semver.Version, bool) {
	i := slices.IndexFunc(b.Properties, func(p catalog.Property) bool { return p.Type == "olm.maxOpenShiftVersion" })
	if i < 0 {
		return semver.Version{}, false
	}
	v, err := semver.ParseTolerant(strings.Trim(string(b.Properties[i].Value), `"`))
	return semver.Version{Major: v.Major, Minor: v.Minor}, err == nil
}
