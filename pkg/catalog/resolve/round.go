package resolve

import (
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A round is one call of Needs.
type round struct {
	sources  []*source // by preference
	needs    map[[2]string]*need
	language *language // nil until a rule asks
	rules    []*rule   // of the predicate being read

	added  map[Place]bool   // by earlier rounds: with their channel, and without
	kept   map[*bundle]bool // that OLM can install from a kept channel
	chosen map[*bundle]int  // additions of this round, by their place in result

	result  Result
	metAt   map[string]int // places in result.Met by what is there
	unmetAt map[string]int // the same of result.Unmet
}

// A need is what a property asks for. Properties with the same value are one.
type need struct {
	predicate         // nil where the property cannot be read
	rules     []*rule // of the predicate
	// reason is why there is no predicate or, once that was asked, why nobody
	// meets it.
	reason string
	kept   map[*source][]offer
	whole  map[*source][]offer
}

func newRound(catalogs []Catalog, added []Addition) *round {
	r := &round{
		needs: map[[2]string]*need{}, added: map[Place]bool{}, kept: map[*bundle]bool{}, chosen: map[*bundle]int{},
		metAt: map[string]int{}, unmetAt: map[string]int{},
	}
	t := &terms{apis: map[string]api{}, labels: map[string]string{}}
	for _, c := range catalogs {
		s := &source{Catalog: c, terms: t, bundles: map[string]map[string]*bundle{}}
		if c.Kept != nil {
			s.kept = s.sort(c.Kept.Packages)
			for _, o := range s.kept {
				r.kept[o.bundle] = true
			}
		}
		r.sources = append(r.sources, s)
	}
	slices.SortFunc(r.sources, byPreference)
	for _, a := range added {
		r.added[a.Place] = true
		r.added[Place{Catalog: a.Catalog, Package: a.Package, Bundle: a.Bundle}] = true
	}
	return r
}

// need is what a property asks for, or nil.
func (r *round) need(p catalog.Property) *need {
	switch p.Type {
	case "olm.gvk.required", "olm.package.required", "olm.label.required", "olm.constraint":
	default:
		return nil
	}
	key := [2]string{p.Type, string(p.Value)}
	n := r.needs[key]
	if n == nil {
		n = &need{kept: map[*source][]offer{}, whole: map[*source][]offer{}}
		r.rules = nil
		var err error
		n.predicate, err = r.predicate(p)
		if err != nil {
			n.reason = clip(fmt.Sprintf("its property %s cannot be read: %v", p.Type, err))
		}
		n.rules = r.rules
		r.needs[key] = n
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
		return nil, fmt.Errorf("the rule %s does not compile: %w", plain(text), err)
	}
	r.rules = append(r.rules, compiled)
	return ruled{rule: compiled, text: text, known: map[*bundle]bool{}}, nil
}

// among are the offers that meet the need, in the order that they have.
func (n *need) among(offers []offer) []offer {
	var found []offer
	for _, o := range offers {
		if n.meets(o.bundle) {
			found = append(found, o)
		}
	}
	return found
}

// order is the order in which a bundle of the source looks for others.
func (r *round) order(from *source) []*source {
	order := []*source{from}
	for _, s := range r.sources {
		if s != from {
			order = append(order, s)
		}
	}
	return order
}

// keptOffers are the kept bundles that meet a need, best first.
func (r *round) keptOffers(n *need, from *source) []offer {
	var found []offer
	for _, s := range r.order(from) {
		if _, known := n.kept[s]; !known {
			n.kept[s] = n.among(s.kept)
		}
		found = append(found, n.kept[s]...)
	}
	return found
}

// addable are the bundles of the whole catalogs that meet a need, best first:
// those that this round adds anyway before all others, and none that an earlier
// round added at that place, since that did not help.
func (r *round) addable(n *need, from *source) []offer {
	var first, then []offer
	for _, s := range r.order(from) {
		if _, known := n.whole[s]; !known {
			n.whole[s] = n.among(s.offers())
		}
		for _, o := range n.whole[s] {
			_, chosen := r.chosen[o.bundle]
			switch {
			case chosen:
				first = append(first, o)
			case !r.added[o.place()]:
				then = append(then, o)
			}
		}
	}
	return append(first, then...)
}
