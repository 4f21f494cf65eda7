package build

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/filter"
	"github.com/gantry-mirror/gantry/pkg/catalog/resolve"
	"github.com/gantry-mirror/gantry/pkg/catalog/validate"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A Selection is the content that a configuration selects of its catalogs, before any image is looked up or built.
type Selection struct {
	Catalogs []SelectedCatalog
	// Notes are messages for the user, sorted.
	Notes []string
	// Unmet are the requirements of selected bundles that no bundle meets, which the notes mention.
	Unmet []resolve.Unsatisfied
}

// A SelectedCatalog is the selected content of one catalog.
type SelectedCatalog struct {
	// Catalog is its entry in a plan, without the target and the digest of its image.
	Catalog plan.Catalog
	// Original is the catalog before filtering: the selected packages completely, and the names or
	// outlines of all others. Result is the filtered catalog with the reasons.
	Original *catalog.Catalog
	Result   *filter.Result
}

// Select reads the catalogs of a configuration and filters them, including dependencies and installed
// operators, without looking up images. Its errors are those of Plan.
func Select(ctx context.Context, cfg *imageset.Config, sources Sources, opts Options) (*Selection, error) {
	selected, err := selectCatalogs(ctx, sources.withTagCache(), cfg.Mirror.Operators, opts.withDefaults())
	if err != nil {
		return nil, err
	}
	s := &Selection{Notes: sortedNotes(selected.notes), Unmet: selected.unmet}
	for _, c := range selected.all {
		s.Catalogs = append(s.Catalogs, SelectedCatalog{Catalog: c.entry, Original: c.full, Result: c.result})
	}
	return s, nil
}

// Reselect is Select for a plan: it returns the catalogs as they were, from the sources that the plan
// pins. It is an error if a layout or folder has changed so that the selection would differ.
func Reselect(ctx context.Context, p *plan.Plan, sources Sources, opts Options) (*Selection, error) {
	s := &Selection{Catalogs: make([]SelectedCatalog, len(p.Catalogs)), Notes: p.Notes}
	return s, each(ctx, len(p.Catalogs), func(ctx context.Context, i int) error {
		c := p.Catalogs[i]
		r, err := reselect(ctx, c, sources, opts.Packages)
		if err != nil {
			return err
		}
		r.exclude(c.Excluded)
		r.describe()
		if !reflect.DeepEqual(r.entry.Packages, r.packagesToRead(c.Packages)) {
			return fmt.Errorf("catalog %s: %w", c.Source, errChanged)
		}
		s.Catalogs[i] = SelectedCatalog{Catalog: c, Original: r.full, Result: r.result}
		return nil
	})
}

// packagesToRead returns the packages of a plan that Reselect reads.
func (r *selectedCatalog) packagesToRead(packages []plan.Package) []plan.Package {
	if r.only == nil || len(r.op.Packages) > 0 {
		return packages
	}
	return slices.DeleteFunc(slices.Clone(packages), func(p plan.Package) bool { return !r.only(p.Name) })
}

// Unfiltered returns a catalog with all of its packages, such as one that is already in a mirror.
func Unfiltered(name string, c *catalog.Catalog) SelectedCatalog {
	return SelectedCatalog{Catalog: plan.Catalog{Source: name}, Result: &filter.Result{Catalog: c, Unchanged: true}}
}

// maxCatalogs is the number of catalogs that are read at the same time. Each may keep a whole index in memory.
const maxCatalogs = 4

// A catalogSelection is the catalogs of the configuration, in its order, after filtering.
type catalogSelection struct {
	all   []*selectedCatalog
	notes []string
	unmet []resolve.Unsatisfied
}

// selectCatalogs reads and filters the catalogs of the configuration. The error covers all catalogs.
func selectCatalogs(ctx context.Context, sources Sources, ops []imageset.Operator, opts Options) (catalogSelection, error) {
	dependencies := slices.ContainsFunc(ops, func(op imageset.Operator) bool { return op.Dependencies })
	if dependencies {
		opts.Packages = nil
	}
	operators, err := identify(ctx, sources, ops, opts.Installed)
	if err != nil {
		return catalogSelection{}, err
	}
	entries, unidentified := installedEntries(operators)
	all, err := collect(ctx, len(ops), maxCatalogs, func(ctx context.Context, i int) (*selectedCatalog, error) {
		opts.Log.Info("reading catalog", "ref", ops[i].Catalog)
		return selectCatalog(ctx, sources, &selectedCatalog{op: ops[i], outline: dependencies, installed: entries, only: opts.Packages})
	})
	if err != nil {
		return catalogSelection{}, err
	}
	var unmet []resolve.Unsatisfied
	for {
		if dependencies {
			if unmet, err = addDependencies(ctx, all, opts.Log); err != nil {
				return catalogSelection{}, err
			}
		} else {
			unmet = unmetDependencies(all)
		}
		if again, err := leaveOutYoung(ctx, all, sources, opts); err != nil {
			return catalogSelection{}, err
		} else if !again {
			break
		}
	}
	notes := elements.Map(unmet, func(u resolve.Unsatisfied) string { return u.String() })
	notes = append(append(notes, unidentified...), notesOnUnknownOperators(all, entries)...) // after dependencies, which may add packages
	err = each(ctx, len(all), func(_ context.Context, i int) error {
		if err := validate.Catalog(all[i].result.Catalog); err != nil {
			return fmt.Errorf("catalog %s violates OLM's rules, so no cluster could use it:\n%w", all[i].op.Catalog, err)
		}
		all[i].describe()
		return nil
	})
	for _, c := range all {
		notes = append(notes, c.notes...)
	}
	return catalogSelection{all: all, notes: notes, unmet: unmet}, err
}

// notesOnUnknownOperators returns notes on installed operators that no catalog of the configuration contains.
func notesOnUnknownOperators(read []*selectedCatalog, installed []imageset.Installed) []string {
	var notes []string
	for _, in := range installed {
		if !slices.ContainsFunc(read, func(t *selectedCatalog) bool { return t.full.Package(in.Package) != nil }) {
			notes = append(notes, fmt.Sprintf("%s: the installed operator %s belongs to a package that is not mirrored, so it gets no updates; add the package", in.Pos, in.Package))
		}
	}
	return notes
}

// leaveOutYoung reads when the images of the selected bundles were created, and selects again without those that are
// too young. It reports whether there were any: then other bundles may be selected now. Bundles that the
// configuration names and those that clusters run stay.
func leaveOutYoung(ctx context.Context, all []*selectedCatalog, sources Sources, opts Options) (again bool, err error) {
	if opts.youngest().IsZero() {
		return false, nil
	}
	for _, r := range all {
		found, err := r.findYoung(ctx, sources, opts)
		if err != nil {
			return false, err
		}
		if len(found) > 0 {
			r.young = append(r.young, found...)
			elements.Sort(r.young, func(a, b plan.YoungBundle) int {
				return cmp.Or(strings.Compare(a.Package, b.Package), strings.Compare(a.Bundle, b.Bundle))
			})
			again = true
		}
	}
	if !again {
		for _, r := range all {
			for _, l := range r.left {
				for _, ch := range l.Needed {
					opts.Warn(fmt.Sprintf("%s: package %q: channel %q keeps bundles that are younger than the minimum age, because it would not be valid without them", r.entry.Name(), l.Package, ch))
				}
			}
		}
		return false, nil
	}
	return true, each(ctx, len(all), func(_ context.Context, i int) error {
		all[i].required = nil // they are resolved again
		if err := all[i].dropYoung(); err != nil {
			return err
		}
		return all[i].filter()
	})
}
