package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// block notes on the paths which operators of the catalogs keep clusters from the
// minor version that a hop leads to: those of which no bundle that is kept runs
// there. While such an operator is installed, the cluster refuses the update.
func (p *platform) block(read []*taken) {
	for i := range p.updates {
		for j := range p.updates[i].Hops {
			h := &p.updates[i].Hops[j]
			if minorOf(h.From) == minorOf(h.To) {
				continue
			}
			to, err := semver.ParseTolerant(minorOf(h.To))
			if err != nil {
				continue // it was a version
			}
			for _, r := range read {
				h.Blockers = append(h.Blockers, blockers(r.entry.Name(), r.result.Catalog, to)...)
			}
			for _, b := range h.Blockers {
				p.notes = append(p.notes, b.note(*h))
			}
		}
	}
}

func (b Blocker) note(h Hop) string {
	return fmt.Sprintf("operator %s of catalog %s keeps clusters from %s: no bundle of it that is mirrored goes beyond OpenShift %s (%s)",
		b.Package, b.Catalog, minorOf(h.To), b.Max, b.Bundle)
}

// unblock takes from the paths, and from the notes, operators that are no longer in
// the plan. What it changes, it copies: other plans share the paths.
func (p *Plan) unblock(gone func(Blocker) bool) {
	notes := map[string]bool{}
	p.Updates = slices.Clone(p.Updates)
	for i := range p.Updates {
		u := &p.Updates[i]
		u.Hops = slices.Clone(u.Hops)
		for j := range u.Hops {
			h := &u.Hops[j]
			h.Blockers = slices.DeleteFunc(slices.Clone(h.Blockers), func(b Blocker) bool {
				if gone(b) {
					notes[b.note(*h)] = true
				}
				return gone(b)
			})
		}
	}
	p.Notes = slices.DeleteFunc(slices.Clone(p.Notes), func(note string) bool { return notes[note] })
}

// blockers are the packages of a catalog without a bundle for that minor version.
func blockers(name string, c *catalog.Catalog, to semver.Version) []Blocker {
	var all []Blocker
	for _, pkg := range c.Packages {
		var best *catalog.Bundle
		var highest semver.Version
		free := false
		for i := range pkg.Bundles {
			b := pkg.Bundles[i]
			limit, ok := maxOpenShift(b)
			if !ok || limit.GE(to) {
				free = true
				break
			}
			if best == nil || limit.GT(highest) {
				best, highest = b, limit
			}
		}
		if !free && best != nil {
			all = append(all, Blocker{Catalog: name, Package: pkg.Name, Bundle: best.Name, Max: fmt.Sprintf("%d.%d", highest.Major, highest.Minor)})
		}
	}
	return all
}

// maxOpenShift is a bundle's olm.maxOpenShiftVersion, of which major and minor
// count (operator-lifecycle-manager, openshift.incompatibleOperators).
func maxOpenShift(b *catalog.Bundle) (semver.Version, bool) {
	i := slices.IndexFunc(b.Properties, func(p catalog.Property) bool { return p.Type == "olm.maxOpenShiftVersion" })
	if i < 0 {
		return semver.Version{}, false
	}
	v, err := semver.ParseTolerant(strings.Trim(string(b.Properties[i].Value), `"`))
	return semver.Version{Major: v.Major, Minor: v.Minor}, err == nil
}
