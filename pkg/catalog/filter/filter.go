// Package filter takes out of a catalog what a configuration selects.
//
// A selection is one entry of mirror.operators: packages, in them channels, in
// them versions. It becomes a set of channel entries; the set is made whole, so
// that OLM accepts each channel and no cluster is stranded by a gap; and the
// objects of the catalog follow: bundles that a kept channel has, deprecations
// whose target is kept, every object of other schemas that belongs to a kept
// package or to none.
//
// What is promised of the result:
//
//   - The update edges of a kept entry (replaces, skips, skipRange) stand as the
//     publisher wrote them, also where they name bundles that are gone: a cluster
//     that runs one of these still finds its update.
//   - No edge is invented. The one addition that may be made is a skip that the
//     same entry's skipRange holds already.
//   - Where a selection has gaps, the bundles in between are kept too, as few as
//     will do, and each of them says for which bundle ([Continuity]).
//   - Objects that need no change are the very same; the rest differ only in the
//     members that had to change.
//   - What the catalog does not have is an error with the place in the
//     configuration and the nearest names, never silence ([SelectionError]).
//
// Everything here is a pure function; nothing is read or written.
package filter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/suggest"
)

// Apply filters a catalog. It needs the packages that op names (all packages
// where it names none) and, for suggestions, the names of all packages in
// c.Names. op has been validated by pkg/imageset. The selection is that of
// mirror.operators in ImageSetConfiguration v2alpha1:
//
//   - no packages: the head of every channel, or with full the catalog as it is;
//   - a package: the head of each of its channels, or with full every entry;
//   - named channels: the same for these only;
//   - a range (of the package for every channel or the named ones, or of a named
//     channel): the entries in it. A channel that was not named and has none is
//     dropped with a note;
//   - bundles: exactly these, in each channel that has them;
//   - defaultChannel: replaces the package's own, which must be kept otherwise
//     unless only one channel is left.
//
// What the configuration asks for and the catalog does not have gives a
// *SelectionError, and no Result. Other errors are objects that cannot be
// rewritten.
func Apply(c *catalog.Catalog, op imageset.Operator) (*Result, error) {
	result := &Result{Catalog: c}
	if len(op.Packages) == 0 && op.Full {
		result.Unchanged = true
		for _, p := range c.Packages {
			s := newSelection(p, imageset.Package{Name: p.Name, Pos: op.Pos}, true)
			for _, ch := range p.Channels {
				s.all(ch)
			}
			result.Packages = append(result.Packages, s.report(p.Bundles, p.DefaultChannel))
		}
		return result, nil
	}

	wanted, problems := wants(c, op)
	filtered := &catalog.Catalog{Others: c.Others}
	for _, want := range wanted {
		p := c.Package(want.Name)
		s := newSelection(p, want, op.Full)
		if len(op.Packages) == 0 && len(p.Channels) == 0 {
			// Nothing to select from and nothing asked for: whether this is a
			// package at all is for the validator to say.
			filtered.Packages = append(filtered.Packages, p)
			filtered.Names = append(filtered.Names, p.Name)
			continue
		}
		s.run()
		if problems = append(problems, s.problems...); len(s.problems) > 0 {
			continue
		}
		kept, err := s.build()
		if err != nil {
			return nil, fmt.Errorf("filtering package %s: %w", p.Name, err)
		}
		filtered.Packages = append(filtered.Packages, kept)
		filtered.Names = append(filtered.Names, p.Name)
		result.Packages = append(result.Packages, s.report(kept.Bundles, kept.DefaultChannel))
		result.Notes = append(result.Notes, s.notes...)
	}
	if len(problems) > 0 {
		slices.SortStableFunc(problems, func(a, b Problem) int {
			return cmp.Or(strings.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line))
		})
		return nil, &SelectionError{Catalog: op.Catalog, Problems: problems}
	}
	result.Catalog = filtered
	return result, nil
}

// wants are the packages to take, sorted by name, and what is wrong with the
// names.
func wants(c *catalog.Catalog, op imageset.Operator) ([]imageset.Package, []Problem) {
	if len(op.Packages) == 0 {
		var all []imageset.Package
		for _, p := range c.Packages {
			all = append(all, imageset.Package{Pos: op.Pos, Name: p.Name})
		}
		return all, nil
	}
	var wanted []imageset.Package
	var problems []Problem
	for _, want := range op.Packages {
		if c.Package(want.Name) != nil {
			wanted = append(wanted, want)
			continue
		}
		problems = append(problems, Problem{want.Pos, sentence(
			fmt.Sprintf("package %q is not in the catalog", want.Name), suggest.Phrase(want.Name, c.Names))})
	}
	slices.SortStableFunc(wanted, func(a, b imageset.Package) int { return strings.Compare(a.Name, b.Name) })
	return wanted, problems
}
