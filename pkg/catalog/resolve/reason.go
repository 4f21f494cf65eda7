package resolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// The remedy if no catalog has what a bundle depends on.
const remedy = "add a catalog that provides it, because OLM does not install the bundle without it"

// reason explains why no bundle of any catalog can be added for a dependency, and which
// alternatives there are.
func (r *round) reason(n *dependency) string {
	if n.reason == "" {
		n.reason = r.explain(n)
	}
	return n.reason
}

func (r *round) explain(n *dependency) string {
	for _, rule := range n.rules {
		if rule.err != nil {
			return "no bundle satisfies it, and evaluating the rule fails: " + printable(rule.err.Error())
		}
	}
	if b := r.unreachable(n); b != nil {
		return fmt.Sprintf("bundle %q of %s provides it, but OLM cannot install it from any channel: its entries are skipped or not reachable from the head", b.Name, b.source.Name)
	}
	var hints []string
	for _, l := range leaves(n.predicate, nil) {
		if hint := r.hint(l); hint != "" {
			hints = append(hints, hint)
		}
	}
	if len(hints) == 0 {
		return "no catalog of the configuration has one; " + remedy
	}
	return strings.Join(slices.Compact(hints), "; ") + "; " + remedy
}

// unreachable returns a bundle that would satisfy the dependency if OLM could install it.
func (r *round) unreachable(n *dependency) *bundle {
	for _, s := range r.sources {
		for _, p := range s.packages() {
			for _, b := range p.Bundles {
				if b := s.bundle(b); !b.deprecated && n.matches(b) {
					return b
				}
			}
		}
	}
	return nil
}

// maxHints is the maximum number of parts of a constraint for which alternatives are named,
// maxNames the number of versions in an alternative.
const (
	maxHints = 4
	maxNames = 5
)

// leaves returns the first packages and APIs that a predicate requires, at most maxHints.
func leaves(p predicate, found []predicate) []predicate {
	if len(found) == maxHints {
		return found
	}
	var parts []predicate
	switch p := p.(type) {
	case inPackage, providesAPI:
		return append(found, p)
	case withMessage:
		parts = []predicate{p.predicate}
	case allOf:
		parts = p
	case anyOf:
		parts = p
	}
	for _, part := range parts {
		found = leaves(part, found)
	}
	return found
}

// hint describes an alternative to a package or an API.
func (r *round) hint(p predicate) string {
	switch p := p.(type) {
	case inPackage:
		return r.otherVersions(p)
	case providesAPI:
		return r.otherAPIs(api(p))
	}
	return ""
}

// otherVersions names the versions of a package in the catalogs, or returns "" if one is in the
// range.
func (r *round) otherVersions(want inPackage) string {
	for _, s := range r.sources {
		var have []semver.Version
		for _, p := range s.packages() {
			for _, b := range p.Bundles {
				switch {
				case p.Name != want.name || b.VersionErr != nil:
				case want.within(b.Version):
					return ""
				default:
					have = append(have, b.Version)
				}
			}
		}
		if len(have) == 0 {
			continue
		}
		elements.Sort(have, semver.Version.Compare)
		have = slices.CompactFunc(have, semver.Version.Equals)
		first, last := have[0], have[len(have)-1]
		if len(have) > maxNames {
			return fmt.Sprintf("%s has package %s in %d versions from %s to %s, none of them in the range",
				s.Name, printable(want.name), len(have), first, last)
		}
		names := elements.Map(have, func(v semver.Version) string { return v.String() })
		return fmt.Sprintf("%s has package %s only in %s", s.Name, printable(want.name), enumerate(names, "and"))
	}
	return fmt.Sprintf("no catalog of the configuration has package %s", printable(want.name))
}

// otherAPIs names a package that provides the same kind in another version.
func (r *round) otherAPIs(want api) string {
	for _, s := range r.sources {
		for _, p := range s.packages() {
			for _, b := range p.Bundles {
				for _, a := range s.bundle(b).apis {
					if a.Group == want.Group && a.Kind == want.Kind {
						if a.Version == want.Version {
							return ""
						}
						return fmt.Sprintf("package %s of %s provides %s, but no catalog of the configuration provides the required version",
							printable(p.Name), s.Name, a)
					}
				}
			}
		}
	}
	return ""
}
