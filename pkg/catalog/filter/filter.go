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
//   - Whom OLM, of either generation, led to what is now the head of a channel,
//     it still leads there: every bundle that is kept, and every one that is gone
//     and that a kept entry replaces or skips. Whose updates are all gone has no
//     way any more: such bundles must be given as installed ([Installed]).
//   - To filter the result again by the same selection changes nothing.
//   - Objects that need no change are the very same; the rest differ only in the
//     members that had to change.
//   - What the catalog does not have is an error with the place in the
//     configuration and the nearest names, never silence ([SelectionError]).
//
// Ways cannot be promised where bundles are pinned, which are taken at their word.
// In channels whose edges lead in a circle they are promised to those whom OLM
// leads by itself, and not to those who must be led by hand.
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
// What is installed (op.Installed) is kept in each kept channel that it may
// follow and that has it, and so is the shortest way from there to the head that
// is kept, for both generations of OLM. Where there is none even in the original,
// a note says so. What others need is kept in its channel, and becomes the head of
// a channel that nobody selected.
//
// What the configuration asks for and the catalog does not have gives a
// *SelectionError, and no Result. A bundle, a version or a channel that is
// installed and gone from the catalog is no such thing, unless its name is plainly
// misspelt. Other errors are objects that cannot be rewritten, and requirements
// that the catalog has nothing for.
//
// Where no packages are named, what c only outlines is filtered likewise, and is
// outlined in the result; what of it cannot be filtered is left out.
func Apply(c *catalog.Catalog, op imageset.Operator, required ...Required) (*Result, error) {
	if len(op.Packages) == 0 && op.Full {
		return unchanged(c, op)
	}
	filtered := &catalog.Catalog{Others: c.Others}
	if len(op.Packages) == 0 {
		filtered.Outlines = outlines(c, op, required)
		required = slices.DeleteFunc(slices.Clone(required), func(r Required) bool { return outlined(c, r.Package) })
	}
	wanted, problems := wants(c, op)
	wanted, err := bring(c, wanted, required)
	if err != nil {
		return nil, err
	}
	notes, wrong := strangers(c, op, wanted)
	problems = append(problems, wrong...)

	result := &Result{}
	for _, want := range wanted {
		p := c.Package(want.Name)
		if len(op.Packages) == 0 && len(p.Channels) == 0 {
			// Nothing to select from and nothing asked for: whether this is a
			// package at all is for the validator to say.
			filtered.Packages = append(filtered.Packages, p)
			filtered.Names = append(filtered.Names, p.Name)
			continue
		}
		s := newSelection(p, want.Package, op.Full)
		s.brought = want.brought
		s.required = requiredOf(p, required)
		s.installed(op.Installed)
		if err := s.run(); err != nil {
			return nil, fmt.Errorf("filtering package %s: %w", p.Name, err)
		}
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
		result.Notes = append(result.Notes, s.sentences()...)
	}
	if len(problems) > 0 {
		return nil, refuse(op, problems)
	}
	result.Catalog = filtered
	result.Notes = append(result.Notes, notes...)
	return result, nil
}

// refuse is the error that has all problems, in the order of the file.
func refuse(op imageset.Operator, problems []Problem) error {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line))
	})
	return &SelectionError{Catalog: op.Catalog, Problems: problems}
}

// unchanged takes the catalog as it is.
func unchanged(c *catalog.Catalog, op imageset.Operator) (*Result, error) {
	result := &Result{Catalog: c, Unchanged: true}
	var problems []Problem
	var all []want
	for _, p := range c.Packages {
		all = append(all, want{Package: imageset.Package{Name: p.Name, Pos: op.Pos}})
		s := newSelection(p, all[len(all)-1].Package, true)
		s.installed(op.Installed)
		s.everything()
		problems = append(problems, s.problems...)
		result.Packages = append(result.Packages, s.report(p.Bundles, p.DefaultChannel))
		result.Notes = append(result.Notes, s.sentences()...)
	}
	notes, wrong := strangers(c, op, all)
	if problems = append(problems, wrong...); len(problems) > 0 {
		return nil, refuse(op, problems)
	}
	result.Notes = append(result.Notes, notes...)
	return result, nil
}

// A want is a package to take something of.
type want struct {
	imageset.Package
	brought bool // by dependencies alone
}

// wants are the packages that are selected, sorted by name, and what is wrong
// with the names.
func wants(c *catalog.Catalog, op imageset.Operator) ([]want, []Problem) {
	var wanted []want
	if len(op.Packages) == 0 {
		for _, p := range c.Packages {
			wanted = append(wanted, want{Package: imageset.Package{Pos: op.Pos, Name: p.Name}})
		}
		return wanted, nil
	}
	var problems []Problem
	for _, p := range op.Packages {
		if c.Package(p.Name) != nil {
			wanted = append(wanted, want{Package: p})
			continue
		}
		problems = append(problems, absent(c, p.Pos, p.Name))
	}
	return wanted, problems
}

// absent refuses a package that the catalog does not have.
func absent(c *catalog.Catalog, pos imageset.Position, name string) Problem {
	return Problem{pos, sentence(fmt.Sprintf("package %q is not in the catalog", name), suggest.Phrase(name, c.Names))}
}

// strangers are the installed operators of packages that are not taken.
func strangers(c *catalog.Catalog, op imageset.Operator, wanted []want) (notes []string, problems []Problem) {
	for _, in := range op.Installed {
		switch {
		case slices.ContainsFunc(wanted, func(w want) bool { return w.Name == in.Package }):
		case c.Package(in.Package) == nil && !slices.Contains(c.Names, in.Package):
			problems = append(problems, absent(c, in.Pos, in.Package))
		default:
			notes = append(notes, fmt.Sprintf("package %q: %s is installed, and nothing of the package is kept; add it to packages", in.Package, cmp.Or(in.Bundle, in.Version)))
		}
	}
	return notes, problems
}
