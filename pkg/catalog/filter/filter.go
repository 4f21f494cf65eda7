// Package filter reduces a catalog to what a configuration selects.
//
// A selection is one entry of mirror.operators: packages, optionally their channels, and optionally
// versions. [Apply] turns it into a set of channel entries, adds the entries that OLM needs to
// accept each channel, and keeps the objects that belong to them: the bundles of kept channels, the
// deprecations of kept objects, and every object of another schema that belongs to a kept package
// or to no package.
//
// The result has these properties:
//
//   - The update edges of a kept entry (replaces, skips, skipRange) stay as the
//     publisher wrote them, even if they name bundles that are not kept. A cluster
//     that runs such a bundle still finds its update.
//   - No edge is invented. The only addition is a skip of a bundle that the
//     skipRange of the same entry already covers.
//   - If a selection has gaps, the bundles in between are kept too, as few as
//     possible. Each names the bundle that it is kept for ([Continuity]).
//   - If OLM classic or OLM v1 leads a bundle to the new head in the original
//     catalog, it still does. This holds for every kept bundle and for every
//     dropped bundle that a kept entry replaces or skips. A bundle that runs in a
//     cluster and has no kept update must be listed as installed ([Installed]).
//   - Filtering the result by the same selection changes nothing.
//   - Objects that need no change are shared with the original. The others differ
//     only in the members that had to change.
//   - What the catalog does not have is an error with the position in the
//     configuration and the nearest names ([SelectionError]).
//
// Update paths are not guaranteed for pinned bundles, which are kept exactly as listed. In channels
// whose edges form a cycle they are guaranteed only for clusters that OLM updates automatically.
//
// All functions are pure and do no I/O.
package filter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// Apply filters a catalog. The catalog must contain the packages that op names (all packages if op
// names none) and, for suggestions, the names of all packages in c.Names. op must have been
// validated by pkg/imageset. The selection is the one of mirror.operators in ImageSetConfiguration
// v2alpha1:
//
//   - no packages: the head of every channel, or with full the unchanged catalog;
//   - a package: the head of each of its channels, or with full every entry;
//   - named channels: the same for these channels only;
//   - a range (of the package, for all or the named channels, or of a named
//     channel): the entries in it. A channel that is not named and has no such
//     entry is dropped with a note;
//   - bundles: exactly these, in each channel that has them;
//   - defaultChannel: replaces the package's default channel. Without it the
//     original default channel must be kept, unless only one channel is left.
//
// An installed bundle (op.Installed) is kept in each kept channel that contains it and that the
// cluster may follow, together with the shortest update path from it to the kept head, for both
// generations of OLM. If the original has no such path, a note reports it. A required bundle is
// kept in its channel, and becomes the head of a channel that is not selected.
//
// Apply returns a *SelectionError, and no Result, if the configuration selects something that the
// catalog does not have. An installed bundle, version or channel that is no longer in the catalog
// is not an error, unless its name is plainly misspelled. Other errors are objects that cannot be
// rewritten and requirements that the catalog cannot satisfy.
//
// If op names no packages, the packages that c only outlines are filtered too, and are outlines in
// the result. Outlines that cannot be filtered are omitted.
func Apply(c *catalog.Catalog, op imageset.Operator, required ...Required) (*Result, error) {
	if len(op.Packages) == 0 && op.Full {
		return unchanged(c, op)
	}
	filtered := &catalog.Catalog{Others: c.Others}
	if len(op.Packages) == 0 {
		filtered.Outlines = outlines(c, op, required)
		required = slices.DeleteFunc(slices.Clone(required), func(r Required) bool { return outlined(c, r.Package) })
	}
	requests, problems := selectedPackages(c, op)
	requests, err := addRequired(c, requests, required)
	if err != nil {
		return nil, err
	}
	notes, wrong := unselectedInstalled(c, op, requests)
	problems = append(problems, wrong...)

	result := &Result{}
	for _, request := range requests {
		p := c.Package(request.Name)
		if len(op.Packages) == 0 && len(p.Channels) == 0 {
			// Nothing to select from, and nothing was requested. The validator decides whether this
			// is a valid package.
			filtered.Packages = append(filtered.Packages, p)
			filtered.Names = append(filtered.Names, p.Name)
			continue
		}
		s := newSelection(p, request.Package, op.Full)
		s.dependency = request.dependency
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
		return nil, selectionError(op, problems)
	}
	result.Catalog = filtered
	result.Notes = append(result.Notes, notes...)
	return result, nil
}

// selectionError returns the error with all problems, in the order of the file.
func selectionError(op imageset.Operator, problems []Problem) error {
	elements.Sort(problems, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line))
	})
	return &SelectionError{Catalog: op.Catalog, Problems: problems}
}

// unchanged returns the catalog without filtering it.
func unchanged(c *catalog.Catalog, op imageset.Operator) (*Result, error) {
	result := &Result{Catalog: c, Unchanged: true}
	var problems []Problem
	var all []request
	for _, p := range c.Packages {
		all = append(all, request{Package: imageset.Package{Name: p.Name, Pos: op.Pos}})
		s := newSelection(p, all[len(all)-1].Package, true)
		s.installed(op.Installed)
		s.everything()
		problems = append(problems, s.problems...)
		result.Packages = append(result.Packages, s.report(p.Bundles, p.DefaultChannel))
		result.Notes = append(result.Notes, s.sentences()...)
	}
	notes, wrong := unselectedInstalled(c, op, all)
	if problems = append(problems, wrong...); len(problems) > 0 {
		return nil, selectionError(op, problems)
	}
	result.Notes = append(result.Notes, notes...)
	return result, nil
}

// A request is a package and what to select from it.
type request struct {
	imageset.Package
	dependency bool // only required by others
}

// selectedPackages returns the requests for the selected packages, sorted by name, and a problem
// for each unknown name.
func selectedPackages(c *catalog.Catalog, op imageset.Operator) ([]request, []Problem) {
	var requests []request
	if len(op.Packages) == 0 {
		for _, p := range c.Packages {
			requests = append(requests, request{Package: imageset.Package{Pos: op.Pos, Name: p.Name}})
		}
		return requests, nil
	}
	var problems []Problem
	for _, p := range op.Packages {
		if c.Package(p.Name) != nil {
			requests = append(requests, request{Package: p})
			continue
		}
		problems = append(problems, missingPackage(c, p.Pos, p.Name))
	}
	return requests, problems
}

// missingPackage returns the problem for a package that the catalog does not have.
func missingPackage(c *catalog.Catalog, pos imageset.Position, name string) Problem {
	return Problem{pos, sentence(fmt.Sprintf("package %q is not in the catalog", name), suggest.Phrase(name, c.Names))}
}

// unselectedInstalled returns notes and problems for installed operators whose packages are not
// selected.
func unselectedInstalled(c *catalog.Catalog, op imageset.Operator, requests []request) (notes []string, problems []Problem) {
	for _, in := range op.Installed {
		switch {
		case slices.ContainsFunc(requests, func(w request) bool { return w.Name == in.Package }):
		case c.Package(in.Package) == nil && !slices.Contains(c.Names, in.Package):
			problems = append(problems, missingPackage(c, in.Pos, in.Package))
		default:
			notes = append(notes, fmt.Sprintf("package %q: %s is installed but its package is not selected; add the package to packages", in.Package, cmp.Or(in.Bundle, in.Version)))
		}
	}
	return notes, problems
}
