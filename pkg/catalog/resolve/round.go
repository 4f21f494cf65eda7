package resolve

import (
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A round is one call of Dependencies.
type round struct {
	sources  []*source // in order of preference
	deps     map[[2]string]*dependency
	language *language // nil until a rule is compiled
	rules    []*rule   // those of the predicate being read

	added  map[BundleRef]bool // by earlier rounds: with their channel, and without
	kept   map[*bundle]bool   // those that OLM can install from a kept channel
	chosen map[*bundle]int    // index of additions of this round in result.Additions

	result        Result
	satisfiedAt   map[string]int // index in result.Satisfied
	unsatisfiedAt map[string]int // index in result.Unsatisfied
}

// A dependency is what a property requires. Properties with the same value share one.
type dependency struct {
	predicate         // nil if the property cannot be parsed
	rules     []*rule // those of the predicate
	// reason explains why there is no predicate or, once determined, why no bundle matches.
	reason   string
	kept     map[*source][]candidate
	original map[*source][]candidate
}

func newRound(catalogs []Catalog, added []Addition) *round {
	r := &round{
		deps: map[[2]string]*dependency{}, added: map[BundleRef]bool{}, kept: map[*bundle]bool{}, chosen: map[*bundle]int{},
		satisfiedAt: map[string]int{}, unsatisfiedAt: map[string]int{},
	}
	t := &valueCache{apis: map[string]api{}, labels: map[string]string{}}
	for _, c := range catalogs {
		s := &source{Catalog: c, valueCache: t, bundles: map[string]map[string]*bundle{}}
		if c.Kept != nil {
			s.kept = s.sort(c.Kept.Packages)
			for _, o := range s.kept {
				r.kept[o.bundle] = true
			}
		}
		r.sources = append(r.sources, s)
	}
	elements.Sort(r.sources, byPreference)
	for _, a := range added {
		r.added[a.BundleRef] = true
		r.added[BundleRef{Catalog: a.Catalog, Package: a.Package, Bundle: a.Bundle}] = true
	}
	return r
}

// dependency returns the dependency that a property declares, or nil.
func (r *round) dependency(p catalog.Property) *dependency {
	switch p.Type {
	case "olm.gvk.required", "olm.package.required", "olm.label.required", "olm.constraint":
	default:
		return nil
	}
	key := [2]string{p.Type, string(p.Value)}
	n := r.deps[key]
	if n == nil {
		n = &dependency{kept: map[*source][]candidate{}, original: map[*source][]candidate{}}
		r.rules = nil
		var err error
		n.predicate, err = r.predicate(p)
		if err != nil {
			n.reason = clip(fmt.Sprintf("its property %s is invalid: %v", p.Type, err))
		}
		n.rules = r.rules
		r.deps[key] = n
	}
	return n
}

// rule compiles the rule of a cel constraint.
func (r *round) rule(text string) (predicate, error) {
	if r.language == nil {
		l, err := newLanguage()
		if err != nil {
			return nil, err
		}
		r.language = l
	}
	compiled, err := r.language.compile(text)
	if err != nil {
		return nil, fmt.Errorf("the rule %s does not compile: %w", printable(text), err)
	}
	r.rules = append(r.rules, compiled)
	return ruleMatch{rule: compiled, text: text, known: map[*bundle]bool{}}, nil
}

// matching returns the candidates that satisfy the dependency, in their order.
func (n *dependency) matching(candidates []candidate) []candidate {
	return elements.Filter(candidates, func(o candidate) bool { return n.matches(o.bundle) })
}

// order returns the catalogs in the order in which a bundle of the source looks for others.
func (r *round) order(from *source) []*source {
	order := []*source{from}
	for _, s := range r.sources {
		if s != from {
			order = append(order, s)
		}
	}
	return order
}

// keptCandidates returns the kept bundles that satisfy a dependency, best first.
func (r *round) keptCandidates(n *dependency, from *source) []candidate {
	var found []candidate
	for _, s := range r.order(from) {
		if _, known := n.kept[s]; !known {
			n.kept[s] = n.matching(s.kept)
		}
		found = append(found, n.kept[s]...)
	}
	return found
}

// addable returns the bundles of the original catalogs that satisfy a dependency, best first.
// Bundles that this round adds anyway precede all others. Bundles that an earlier round added in
// the same channel are excluded, since that did not help.
func (r *round) addable(n *dependency, from *source) []candidate {
	var first, then []candidate
	for _, s := range r.order(from) {
		if _, known := n.original[s]; !known {
			n.original[s] = n.matching(s.candidates())
		}
		for _, o := range n.original[s] {
			_, chosen := r.chosen[o.bundle]
			switch {
			case chosen:
				first = append(first, o)
			case !r.added[o.ref()]:
				then = append(then, o)
			}
		}
	}
	return append(first, then...)
}
