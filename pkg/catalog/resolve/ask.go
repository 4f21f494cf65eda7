package resolve

import (
	"fmt"
	"slices"
)

// maxNeeds is how many needs of a bundle are looked into together, which takes
// time in proportion to their square.
const maxNeeds = 1000

// ask finds who meets what a bundle needs.
func (r *round) ask(from *source, b *bundle) {
	var needs []*need
	seen := map[*need]bool{}
	for _, p := range b.Properties {
		n := r.need(p)
		if n == nil || seen[n] {
			continue
		}
		seen[n] = true
		switch {
		case n.predicate == nil:
			r.unmet(b, n, n.reason)
		case len(needs) == maxNeeds:
			r.unmet(b, n, fmt.Sprintf("it needs more than %d things, and Gantry looks for no more", maxNeeds))
		default:
			needs = append(needs, n)
		}
	}
	if len(needs) == 0 {
		return
	}
	kept := make([][]offer, len(needs))
	for i, n := range needs {
		kept[i] = r.keptOffers(n, from)
	}
	var choice choice
	if possible(b, needs, kept) {
		choice = choose(b, needs, kept)
	}
	if !choice.complete(needs) {
		var left []*need
		var options [][]offer
		for i, n := range needs {
			all := slices.Concat(kept[i], r.addable(n, from))
			if len(all) == 0 && !n.meets(b) {
				r.unmet(b, n, r.reason(n))
				continue
			}
			left, options = append(left, n), append(options, all)
		}
		needs, choice = left, choose(b, left, options)
	}
	for i, n := range needs {
		switch o := choice[i]; {
		case o.bundle == nil:
			r.unmet(b, n, "what meets it cannot be installed together with what meets its other needs: OLM installs one bundle of a package, and one that provides an API")
		case o.bundle == b:
		case r.kept[o.bundle]:
			r.met(b, n, o)
		default:
			r.add(b, n, o)
		}
	}
}

// A choice is the bundle that meets each of several needs; the zero offer where
// there is none.
type choice []offer

// possible reports whether there is an offer for each need by itself.
func possible(asker *bundle, needs []*need, options [][]offer) bool {
	for i, n := range needs {
		if len(options[i]) == 0 && !n.meets(asker) {
			return false
		}
	}
	return true
}

func (c choice) complete(needs []*need) bool {
	return len(c) == len(needs) && !slices.ContainsFunc(c, func(o offer) bool { return o.bundle == nil })
}

// maxSteps limits the search for a choice.
const maxSteps = 10_000

// choose takes an offer for each need of a bundle, the first that OLM would
// install together with the bundle and the others. Of a bundle that was taken for
// one need no other is taken for the next that it meets. Where not all needs can
// be met together, each is met that can be with those before it.
func choose(asker *bundle, needs []*need, options [][]offer) choice {
	s := &search{asker: asker, needs: needs, options: options, taken: make(choice, len(needs))}
	if s.from(0) {
		return s.taken
	}
	s.taken = make(choice, len(needs))
	for i := range needs {
		if o, ok := s.settled(i); ok {
			s.taken[i] = o
			continue
		}
		for _, o := range options[i] {
			if s.fits(i, o) {
				s.taken[i] = o
				break
			}
		}
	}
	return s.taken
}

// A search tries offers in order, and goes back where a later need cannot be met.
type search struct {
	asker   *bundle
	needs   []*need
	options [][]offer
	taken   choice
	steps   int
}

func (s *search) from(i int) bool {
	if i == len(s.needs) {
		return true
	}
	if o, ok := s.settled(i); ok {
		s.taken[i] = o
		return s.from(i + 1)
	}
	for _, o := range s.options[i] {
		if s.steps++; s.steps > maxSteps {
			return false
		}
		if !s.fits(i, o) {
			continue
		}
		s.taken[i] = o
		if s.from(i + 1) {
			return true
		}
	}
	s.taken[i] = offer{}
	return false
}

// settled finds a bundle that is there already and meets a need: the one that
// asks, or one that was taken for a need before.
func (s *search) settled(i int) (offer, bool) {
	if s.needs[i].meets(s.asker) {
		return offer{bundle: s.asker}, true
	}
	for _, o := range s.taken[:i] {
		if o.bundle != nil && s.needs[i].meets(o.bundle) {
			return o, true
		}
	}
	return offer{}, false
}

// fits reports whether OLM would install an offer with what was taken before.
func (s *search) fits(i int, o offer) bool {
	if o.excludes(s.asker) {
		return false
	}
	for _, t := range s.taken[:i] {
		if t.bundle != nil && o.excludes(t.bundle) {
			return false
		}
	}
	return true
}

// asked is a need as it stands in the result.
func asked(b *bundle, n *need) Need {
	wants := "what one of its properties asks for"
	switch p := n.predicate.(type) {
	case nil:
	case versions:
		wants = clip(p.noun())
	default:
		wants = clip("an operator that " + p.String())
	}
	return Need{Catalog: b.source.Name, Package: b.Package, Bundles: []string{b.Name}, Wants: wants}
}

func (r *round) add(b *bundle, n *need, o offer) {
	i, known := r.chosen[o.bundle]
	if !known {
		i = len(r.result.Additions)
		r.chosen[o.bundle] = i
		r.result.Additions = append(r.result.Additions, Addition{Place: o.place()})
	}
	a := &r.result.Additions[i]
	a.For = join(a.For, asked(b, n))
}

func (r *round) met(b *bundle, n *need, o offer) {
	asks, by := asked(b, n), o.place()
	key := fmt.Sprintf("%q", []string{asks.Catalog, asks.Package, asks.Wants, by.Catalog, by.Package, by.Channel, by.Bundle})
	if i, known := r.metAt[key]; known {
		r.result.Met[i].Bundles = append(r.result.Met[i].Bundles, b.Name)
		return
	}
	r.metAt[key] = len(r.result.Met)
	r.result.Met = append(r.result.Met, Met{Need: asks, By: by})
}

func (r *round) unmet(b *bundle, n *need, reason string) {
	asks := asked(b, n)
	key := fmt.Sprintf("%q", []string{asks.Catalog, asks.Package, asks.Wants, reason})
	if i, known := r.unmetAt[key]; known {
		r.result.Unmet[i].Bundles = append(r.result.Unmet[i].Bundles, b.Name)
		return
	}
	r.unmetAt[key] = len(r.result.Unmet)
	r.result.Unmet = append(r.result.Unmet, Unmet{Need: asks, Reason: reason})
}
