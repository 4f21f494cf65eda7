package imageset

import (
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/suggest"
)

// What may be combined in mirror.operators[]: a range stands on a package or on
// its channels, never on both; `full` takes everything and so knows neither
// ranges nor bundles; bundles that are named leave nothing else to select.

func checkOperator(r *reader, path string, o *Operator) {
	checkPlatforms(r, path, o.Platforms)
	distinct(r, join(path, "packages"), o.Packages, "merge the two entries",
		func(p *Package) (string, Position) { return p.Name, p.Pos })
	if !o.Full {
		return
	}
	for i, p := range o.Packages {
		at := fmt.Sprintf("%s[%d]", join(path, "packages"), i)
		checkFull(r, at, p.Range)
		for j, c := range p.Channels {
			checkFull(r, fmt.Sprintf("%s.channels[%d]", at, j), c.Range)
		}
		if len(p.Bundles) > 0 {
			r.fault(join(at, "bundles"), "bundles cannot be combined with full: true of the catalog, which takes all of them",
				"take out one of the two")
		}
	}
}

// checkInstalledPackages reports an installed operator of a package that is not
// taken: nothing would be kept for it. Where some entry wants dependencies, a
// package may be taken without being named. That is why a selection that stands
// in a plan is not held to this.
func checkInstalledPackages(r *reader, path string, o *Operator) {
	var names []string
	for _, p := range o.Packages {
		names = append(names, p.Name)
	}
	for i, in := range o.Installed {
		if len(names) == 0 || in.Package == "" || slices.Contains(names, in.Package) || slices.Contains(names, "") {
			continue
		}
		hint := suggest.Phrase(in.Package, names)
		if hint == "" {
			hint = "add it to packages, or take it out here"
		}
		r.fault(fmt.Sprintf("%s[%d].package", join(path, "installed"), i), quote(in.Package)+" is not among the packages that are taken", hint)
	}
}

func checkInstalled(r *reader, path string, i *Installed) {
	_, wrong := r.at[join(path, "version")] // reported already
	if i.Bundle == "" && i.Version == "" && !wrong {
		r.fault(path, "neither bundle nor version is given", "write the name of the ClusterServiceVersion as its bundle")
	}
}

func checkFull(r *reader, path string, v Range) {
	if at := rangeField(path, v); at != "" {
		r.fault(at, "a version range cannot be combined with full: true of the catalog, which takes every version",
			"take out one of the two")
	}
}

// rangeField is the path of the first end that is set of the range at path, or
// "".
func rangeField(path string, v Range) string {
	switch {
	case v.Min != "":
		return join(path, "minVersion")
	case v.Max != "":
		return join(path, "maxVersion")
	}
	return ""
}

func checkPackage(r *reader, path string, p *Package) {
	checkRange(r, path, p.Range)
	distinct(r, join(path, "channels"), p.Channels, "merge the two entries",
		func(c *Channel) (string, Position) { return c.Name, c.Pos })
	distinct(r, join(path, "bundles"), p.Bundles, "take one of the two out",
		func(b *Bundle) (string, Position) { return b.Name, b.Pos })

	outer := rangeField(path, p.Range)
	for i, c := range p.Channels {
		inner := rangeField(fmt.Sprintf("%s.channels[%d]", path, i), c.Range)
		if outer != "" && inner != "" {
			r.fault(inner, fmt.Sprintf("a version range cannot stand on a channel and on its package (line %d) as well", r.at[outer].Line),
				"take one out, or give every channel its own")
		}
	}
	if len(p.Bundles) > 0 {
		at := join(path, "bundles")
		if outer != "" {
			r.fault(at, "bundles cannot be combined with a version range: exactly the bundles named are kept", "take out one of the two")
		}
		if len(p.Channels) > 0 {
			r.fault(at, "bundles cannot be combined with channels: a bundle is kept in every channel that has it", "take out one of the two")
		}
	}
	checkDefaultChannel(r, path, p)
}

// checkDefaultChannel reports a default channel that is not among those named:
// the others are left out of the catalog, and it would point nowhere.
func checkDefaultChannel(r *reader, path string, p *Package) {
	var names []string
	for _, c := range p.Channels {
		names = append(names, c.Name)
	}
	if p.DefaultChannel == "" || len(names) == 0 || slices.Contains(names, "") || slices.Contains(names, p.DefaultChannel) {
		return
	}
	hint := suggest.Phrase(p.DefaultChannel, names)
	if hint == "" {
		hint = "add it to channels, or name one of them"
	}
	r.fault(join(path, "defaultChannel"), quote(p.DefaultChannel)+" is not among the channels named, which are all that is kept", hint)
}

// distinct reports entries of the list at path that have the key of an earlier
// one. Those with the key "" do not count.
func distinct[E any](r *reader, path string, list []E, hint string, key func(*E) (string, Position)) {
	first := map[string]Position{}
	for i := range list {
		k, pos := key(&list[i])
		if k == "" {
			continue
		}
		if before, ok := first[k]; ok {
			r.faultAt(pos, fmt.Sprintf("%s[%d]", path, i), fmt.Sprintf("%s stands on line %d already", quote(k), before.Line), hint)
			continue
		}
		first[k] = pos
	}
}

func checkMirror(r *reader, path string, m *Mirror) {
	// Where something else is wrong, that may be why there is nothing.
	switch {
	case len(r.problems) > 0:
	case m.Platform != nil && m.Platform.takesNothing():
		r.fault(join(path, "platform"), "it names nothing to mirror", "add channels, a release or `graph: true`, or take it out")
	case m.Platform == nil && len(m.Operators)+len(m.AdditionalImages) == 0:
		r.fault(path, "there is nothing to mirror", "add operators, additionalImages or platform")
	}
	operators, images := join(path, "operators"), join(path, "additionalImages")
	if !slices.ContainsFunc(m.Operators, func(o Operator) bool { return o.Dependencies }) {
		for i := range m.Operators {
			checkInstalledPackages(r, fmt.Sprintf("%s[%d]", operators, i), &m.Operators[i])
		}
	}
	claims := map[target]claim{}
	for i, o := range m.Operators {
		claims = claimTarget(r, claims, fmt.Sprintf("%s[%d]", operators, i), claim{
			list: operators, source: o.Catalog, pos: o.Pos, chosen: o.TargetCatalog != "" || o.TargetTag != "",
			target: targetOf(o.Catalog, o.TargetCatalog, o.TargetTag),
			merge:  "put the packages of both into one entry", move: "give one of them another targetCatalog or targetTag",
		})
	}
	for i, image := range m.AdditionalImages {
		claims = claimTarget(r, claims, fmt.Sprintf("%s[%d]", images, i), claim{
			list: images, source: image.Name, pos: image.Pos, chosen: image.TargetRepo != "" || image.TargetTag != "",
			target: targetOf(image.Name, image.TargetRepo, image.TargetTag),
			merge:  "take one of the two out", move: "give one of them another targetRepo or targetTag",
		})
	}
}

// A claim is an entry's wish for a tag in the mirror.
type claim struct {
	list, source string
	pos          Position
	chosen       bool // by the configuration; otherwise Gantry may choose another
	target       target
	merge, move  string // what to do about an entry that stands there twice
}

// claimTarget adds c to claims, or reports that it cannot have what it wants.
func claimTarget(r *reader, claims map[target]claim, path string, c claim) map[target]claim {
	if c.source == "" {
		return claims
	}
	before, taken := claims[c.target]
	switch {
	case !taken:
		claims[c.target] = c
	case before.source == c.source && before.list == c.list:
		r.faultAt(c.pos, path, fmt.Sprintf("%s stands on line %d already", quote(c.source), before.pos.Line), c.merge+", or "+c.move)
	case before.chosen || c.chosen:
		r.faultAt(c.pos, path, fmt.Sprintf("%s would become %s in the mirror, as %s of line %d does",
			quote(c.source), quote(c.target.repo+":"+c.target.tag), quote(before.source), before.pos.Line),
			c.move)
	}
	return claims
}
