package plan

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/filter"
	"github.com/gantry-mirror/gantry/pkg/catalog/validate"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// A Selection is what a configuration takes of its catalogs, before any image
// is looked up or built.
type Selection struct {
	Catalogs []Selected
	// Notes are sentences for the person who decides, sorted.
	Notes []string
}

// A Selected is what is taken of one catalog.
type Selected struct {
	// Catalog says where it came from, and what was kept and why. Where it goes,
	// and the digest of its image, are not known yet.
	Catalog Catalog
	// Source is the catalog as it was read: the packages that were kept, whole,
	// and the names of all others, or their outlines. Result is what is left of it,
	// and why.
	Source *catalog.Catalog
	Result *filter.Result
}

// Select reads the catalogs of a configuration and filters them, with what
// dependencies and installed operators ask for, without looking at a single
// image. Errors are as those of Make.
func Select(ctx context.Context, cfg *imageset.Config, from From, opts Options) (*Selection, error) {
	read, notes, err := readCatalogs(ctx, from.once(), cfg.Mirror.Operators, opts.withDefaults())
	if err != nil {
		return nil, err
	}
	s := &Selection{Notes: notes}
	for _, r := range read {
		s.Catalogs = append(s.Catalogs, Selected{Catalog: r.entry, Source: r.whole, Result: r.result})
		s.Notes = append(s.Notes, r.notes...)
	}
	slices.Sort(s.Notes)
	s.Notes = slices.Compact(s.Notes)
	return s, nil
}

// SelectAgain is Select for a plan: its catalogs as they were then, from the
// sources that it pinned. A layout or a folder from which something else would be
// taken now is an error.
func SelectAgain(ctx context.Context, p *Plan, from From, opts Options) (*Selection, error) {
	s := &Selection{Catalogs: make([]Selected, len(p.Catalogs)), Notes: p.Notes}
	return s, each(ctx, len(p.Catalogs), func(ctx context.Context, i int) error {
		c := p.Catalogs[i]
		r, err := again(ctx, c, from, opts.Only)
		if err != nil {
			return err
		}
		r.leaveOut(c.LeftOut)
		r.describe()
		if !reflect.DeepEqual(r.entry.Packages, r.asked(c.Packages)) {
			return fmt.Errorf("catalog %s: %w", c.Source, errChanged)
		}
		s.Catalogs[i] = Selected{Catalog: c, Source: r.whole, Result: r.result}
		return nil
	})
}

// asked are those packages of a plan that are to be read again.
func (r *taken) asked(packages []Package) []Package {
	if r.only == nil || len(r.op.Packages) > 0 {
		return packages
	}
	return slices.DeleteFunc(slices.Clone(packages), func(p Package) bool { return !r.only(p.Name) })
}

// AsItIs is a catalog of which everything is kept, such as one that is in a
// mirror already.
func AsItIs(name string, c *catalog.Catalog) Selected {
	return Selected{Catalog: Catalog{Source: name}, Result: &filter.Result{Catalog: c, Unchanged: true}}
}

// maxCatalogs is how many catalogs are read at the same time; each may keep a
// whole index in memory.
const maxCatalogs = 4

// readCatalogs reads and filters the catalogs of the configuration, in its
// order. All that is wrong with any of them is in the error. The notes are those
// that belong to no single catalog.
func readCatalogs(ctx context.Context, from From, ops []imageset.Operator, opts Options) ([]*taken, []string, error) {
	read := make([]*taken, len(ops))
	outline := slices.ContainsFunc(ops, func(op imageset.Operator) bool { return op.Dependencies })
	if outline {
		opts.Only = nil
	}
	err := each(ctx, len(ops), func(ctx context.Context, i int) (err error) {
		opts.Log.Info("reading catalog", "ref", ops[i].Catalog)
		read[i], err = take(ctx, from, &taken{op: ops[i], outline: outline, installed: opts.Installed, only: opts.Only})
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	var notes []string
	if outline {
		needs, err := addNeeds(ctx, read, opts.Log)
		if err != nil {
			return nil, nil, err
		}
		notes = needs
	} else {
		notes = lacks(read)
	}
	notes = append(notes, strangers(read, opts.Installed)...) // dependencies may have brought their packages
	return read, notes, each(ctx, len(read), func(_ context.Context, i int) error {
		if err := validate.Catalog(read[i].result.Catalog); err != nil {
			return fmt.Errorf("catalog %s breaks rules of OLM, so that no cluster could use it:\n%w", read[i].op.Catalog, err)
		}
		read[i].describe()
		return nil
	})
}

// each calls do for 0 to n-1, a few at a time, and returns what went wrong with
// any of them, in their order.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	return eachOf(ctx, n, maxCatalogs, do)
}

// eachOf is each, so many at a time.
func eachOf(ctx context.Context, n, jobs int, do func(ctx context.Context, i int) error) error {
	problems := make([]error, n)
	var g errgroup.Group
	g.SetLimit(jobs)
	for i := range n {
		g.Go(func() error {
			problems[i] = do(ctx, i)
			return nil
		})
	}
	_ = g.Wait() // its functions return none
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(problems...)
}

// strangers are notes on operators that clusters have installed and that no
// catalog of the configuration takes along.
func strangers(read []*taken, installed []imageset.Installed) []string {
	var notes []string
	for _, in := range installed {
		if !slices.ContainsFunc(read, func(t *taken) bool { return t.whole.Package(in.Package) != nil }) {
			notes = append(notes, fmt.Sprintf("%s: the installed operator %s is of a package that is not mirrored; it will find no updates here", in.Pos, in.Package))
		}
	}
	return notes
}
