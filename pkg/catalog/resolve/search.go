package resolve

import (
	"fmt"
	"slices"
)

// maxDependencies is the maximum number of dependencies of a bundle that are resolved. The time grows with
// their square.
const maxDependencies = 1000

// resolve finds the bundles that satisfy the dependencies of b.
func (r *round) resolve(from *source, b *bundle) {
	var deps []*dependency
	seen := map[*dependency]bool{}
	for _, p := range b.Properties {
		n := r.dependency(p)
		if n == nil || seen[n] {
			continue
		}
		seen[n] = true
		switch {
		case n.predicate == nil:
			r.addUnsatisfied(b, n, n.reason)
		case len(deps) == maxDependencies:
			r.addUnsatisfied(b, n, fmt.Sprintf("it has more than %d dependencies; Gantry resolves no more", maxDependencies))
		default:
			deps = append(deps, n)
		}
	}
	if len(deps) == 0 {
		return
	}
	kept := make([][]candidate, len(deps))
	for i, n := range deps {
		kept[i] = r.keptCandidates(n, from)
	}
	var choice choice
	if satisfiable(b, deps, kept) {
		choice = choose(b, deps, kept)
	}
	if !choice.complete(deps) {
		var left []*dependency
		var options [][]candidate
		for i, n := range deps {
			all := slices.Concat(kept[i], r.addable(n, from))
			if len(all) == 0 && !n.matches(b) {
				r.addUnsatisfied(b, n, r.reason(n))
				continue
			}
			left, options = append(left, n), append(options, all)
		}
		deps, choice = left, choose(b, left, options)
	}
	for i, n := range deps {
		switch o := choice[i]; {
		case o.bundle == nil:
			r.addUnsatisfied(b, n, "the bundles that satisfy it cannot be installed together with those for its other dependencies: OLM installs only one bundle of a package and only one provider of an API")
		case o.bundle == b:
		case r.kept[o.bundle]:
			r.addSatisfied(b, n, o)
		default:
			r.addBundle(b, n, o)
		}
	}
}

// A choice is the candidate for each of several dependencies; the zero candidate if there is none.
type choice []candidate

// satisfiable reports whether every dependency has a candidate, regardless of the others.
func satisfiable(dependent *bundle, deps []*dependency, options [][]candidate) bool {
	for i, n := range deps {
		if len(options[i]) == 0 && !n.matches(dependent) {
			return false
		}
	}
	return true
}

func (c choice) complete(deps []*dependency) bool {
	return len(c) == len(deps) && !slices.ContainsFunc(c, func(o candidate) bool { return o.bundle == nil })
}

// maxSteps limits the search for a choice.
const maxSteps = 10_000

// choose returns a candidate for each dependency of a bundle: the first that OLM would install
// together with the bundle and the other candidates. A bundle chosen for one dependency also serves
// later ones that it satisfies. If the dependencies cannot all be satisfied together, each is
// satisfied that is compatible with those before it.
func choose(dependent *bundle, deps []*dependency, options [][]candidate) choice {
	s := &search{dependent: dependent, deps: deps, options: options, chosen: make(choice, len(deps))}
	if s.from(0) {
		return s.chosen
	}
	s.chosen = make(choice, len(deps))
	for i := range deps {
		if o, ok := s.reused(i); ok {
			s.chosen[i] = o
			continue
		}
		for _, o := range options[i] {
			if s.fits(i, o) {
				s.chosen[i] = o
				break
			}
		}
	}
	return s.chosen
}

// A search tries candidates in order, and backtracks if a later dependency cannot be satisfied.
type search struct {
	dependent *bundle
	deps      []*dependency
	options   [][]candidate
	chosen    choice
	steps     int
}

func (s *search) from(i int) bool {
	if i == len(s.deps) {
		return true
	}
	if o, ok := s.reused(i); ok {
		s.chosen[i] = o
		return s.from(i + 1)
	}
	for _, o := range s.options[i] {
		if s.steps++; s.steps > maxSteps {
			return false
		}
		if !s.fits(i, o) {
			continue
		}
		s.chosen[i] = o
		if s.from(i + 1) {
			return true
		}
	}
	s.chosen[i] = candidate{}
	return false
}

// reused returns a bundle that satisfies a dependency and is already chosen: the dependent itself,
// or a candidate for an earlier dependency.
func (s *search) reused(i int) (candidate, bool) {
	if s.deps[i].matches(s.dependent) {
		return candidate{bundle: s.dependent}, true
	}
	for _, o := range s.chosen[:i] {
		if o.bundle != nil && s.deps[i].matches(o.bundle) {
			return o, true
		}
	}
	return candidate{}, false
}

// fits reports whether OLM would install a candidate together with the earlier ones.
func (s *search) fits(i int, o candidate) bool {
	if o.conflicts(s.dependent) {
		return false
	}
	return !slices.ContainsFunc(s.chosen[:i], func(t candidate) bool { return t.bundle != nil && o.conflicts(t.bundle) })
}

// describe returns a dependency as it appears in the result.
func describe(b *bundle, n *dependency) Dependency {
	wants := "what one of its properties requires"
	switch p := n.predicate.(type) {
	case nil:
	case inPackage:
		wants = clip(p.phrase())
	default:
		wants = clip("an operator that " + p.String())
	}
	return Dependency{Catalog: b.source.Name, Package: b.Package, Bundles: []string{b.Name}, Requirement: wants}
}

func (r *round) addBundle(b *bundle, n *dependency, o candidate) {
	i, known := r.chosen[o.bundle]
	if !known {
		i = len(r.result.Additions)
		r.chosen[o.bundle] = i
		r.result.Additions = append(r.result.Additions, Addition{BundleRef: o.ref()})
	}
	a := &r.result.Additions[i]
	a.For = merge(a.For, describe(b, n))
}

func (r *round) addSatisfied(b *bundle, n *dependency, o candidate) {
	dep, by := describe(b, n), o.ref()
	key := fmt.Sprintf("%q", []string{dep.Catalog, dep.Package, dep.Requirement, by.Catalog, by.Package, by.Channel, by.Bundle})
	if i, known := r.satisfiedAt[key]; known {
		r.result.Satisfied[i].Bundles = append(r.result.Satisfied[i].Bundles, b.Name)
		return
	}
	r.satisfiedAt[key] = len(r.result.Satisfied)
	r.result.Satisfied = append(r.result.Satisfied, Satisfied{Dependency: dep, By: by})
}

func (r *round) addUnsatisfied(b *bundle, n *dependency, reason string) {
	dep := describe(b, n)
	key := fmt.Sprintf("%q", []string{dep.Catalog, dep.Package, dep.Requirement, reason})
	if i, known := r.unsatisfiedAt[key]; known {
		r.result.Unsatisfied[i].Bundles = append(r.result.Unsatisfied[i].Bundles, b.Name)
		return
	}
	r.unsatisfiedAt[key] = len(r.result.Unsatisfied)
	r.result.Unsatisfied = append(r.result.Unsatisfied, Unsatisfied{Dependency: dep, Reason: reason})
}

// merge adds a dependency to a list, or its bundles to the same dependency in the list.
func merge(deps []Dependency, n Dependency) []Dependency {
	for i := range deps {
		if deps[i].sameAs(n) {
			deps[i].Bundles = slices.Compact(append(deps[i].Bundles, n.Bundles...))
			return deps
		}
	}
	return append(deps, n)
}
