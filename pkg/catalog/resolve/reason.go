package resolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
)

// What to do where nobody gives what is needed.
const advice = "add the catalog that does, since OLM does not install the bundle without it"

// reason says why no bundle of any catalog can be added for a need, and what
// there is instead.
func (r *round) reason(n *need) string {
	if n.reason == "" {
		n.reason = r.find(n)
	}
	return n.reason
}

func (r *round) find(n *need) string {
	for _, rule := range n.rules {
		if rule.err != nil {
			return "no bundle meets it, and evaluating the rule gives an error: " + plain(rule.err.Error())
		}
	}
	if b := r.outOfReach(n); b != nil {
		return fmt.Sprintf("%q of %s does, but OLM installs it from none of its channels: there it is skipped, or not on the way down from the head", b.Name, b.source.Name)
	}
	var hints []string
	for _, l := range leaves(n.predicate, nil) {
		if hint := r.hint(l); hint != "" {
			hints = append(hints, hint)
		}
	}
	if len(hints) == 0 {
		return "no catalog of the configuration has one; " + advice
	}
	return strings.Join(slices.Compact(hints), "; ") + "; " + advice
}

// outOfReach is a bundle that would meet the need if OLM could install it.
func (r *round) outOfReach(n *need) *bundle {
	for _, s := range r.sources {
		for _, p := range s.packages() {
			for _, b := range p.Bundles {
				if b := s.bundle(b); !b.excluded && n.meets(b) {
					return b
				}
			}
		}
	}
	return nil
}

// maxHints is how many parts of a constraint are looked into for what there is
// instead, and maxNames how many names of one kind are said.
const (
	maxHints = 4
	maxNames = 5
)

// leaves are the first few packages and APIs that a predicate asks for.
func leaves(p predicate, found []predicate) []predicate {
	if len(found) == maxHints {
		return found
	}
	var parts []predicate
	switch p := p.(type) {
	case versions, gives:
		return append(found, p)
	case explained:
		parts = []predicate{p.predicate}
	case all:
		parts = p
	case some:
		parts = p
	}
	for _, part := range parts {
		found = leaves(part, found)
	}
	return found
}

// hint says what there is that comes near a package or an API.
func (r *round) hint(p predicate) string {
	switch p := p.(type) {
	case versions:
		return r.otherVersions(p)
	case gives:
		return r.otherAPIs(api(p))
	}
	return ""
}

// otherVersions says in which versions catalogs have a package. Where a range
// is met nothing is to be said.
func (r *round) otherVersions(want versions) string {
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
		slices.SortFunc(have, semver.Version.Compare)
		have = slices.CompactFunc(have, semver.Version.Equals)
		first, last := have[0], have[len(have)-1]
		if len(have) > maxNames {
			return fmt.Sprintf("%s has package %s in %d versions from %s to %s, none of them in the range",
				s.Name, plain(want.name), len(have), first, last)
		}
		var names []string
		for _, v := range have {
			names = append(names, v.String())
		}
		return fmt.Sprintf("%s has package %s only in %s", s.Name, plain(want.name), enumerate(names, "and"))
	}
	return fmt.Sprintf("no catalog of the configuration has package %s", plain(want.name))
}

// otherAPIs says who provides the same kind in another version.
func (r *round) otherAPIs(want api) string {
	for _, s := range r.sources {
		for _, p := range s.packages() {
			for _, b := range p.Bundles {
				for _, a := range s.bundle(b).apis {
					if a.Group == want.Group && a.Kind == want.Kind {
						if a.Version == want.Version {
							return ""
						}
						return fmt.Sprintf("package %s of %s provides %s, and no catalog of the configuration has the version that is needed",
							plain(p.Name), s.Name, a)
					}
				}
			}
		}
	}
	return ""
}
