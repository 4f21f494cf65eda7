package build

import (
	"context"
	"fmt"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/filter"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// findYoung returns the selected bundles that are too young and that were not known as such.
func (r *selectedCatalog) findYoung(ctx context.Context, sources Sources, opts Options) ([]plan.YoungBundle, error) {
	key := func(pkg, bundle string) string { return pkg + "\x00" + bundle }
	exempt := map[string]bool{}
	for _, p := range r.result.Packages {
		for _, b := range p.Bundles {
			exempt[key(p.Name, b.Name)] = b.Reason == filter.Pinned || b.Reason == filter.Installed
		}
	}
	var bundles []*catalog.Bundle
	for _, p := range r.result.Catalog.Packages {
		for _, b := range p.Bundles {
			if at := key(b.Package, b.Name); b.Image != "" && !exempt[at] && !r.aged[at] {
				bundles = append(bundles, b)
			}
		}
	}
	times, err := collect(ctx, len(bundles), opts.Jobs, func(ctx context.Context, i int) (time.Time, error) {
		return bundleTime(ctx, sources, bundles[i], opts.youngest())
	})
	if err != nil {
		return nil, err
	}
	if r.aged == nil {
		r.aged = map[string]bool{}
	}
	var young []plan.YoungBundle
	for i, b := range bundles {
		r.aged[key(b.Package, b.Name)] = true
		switch {
		case times[i].IsZero():
			r.undated++
		case opts.tooYoung(times[i]):
			young = append(young, plan.YoungBundle{Package: b.Package, Bundle: b.Name, Created: day(times[i].UTC())})
		}
	}
	return young, nil
}

// bundleTime returns when a bundle was created: the latest time of its image and of the images that it names, up to the first
// that is not before the limit. Images whose time cannot be read are left out; if one is unavailable, the plan says so.
func bundleTime(ctx context.Context, sources Sources, b *catalog.Bundle, limit time.Time) (time.Time, error) {
	created, err := CreationTime(ctx, sources.Images, b.Image)
	if err != nil {
		return created, err
	}
	for _, related := range b.RelatedImages {
		if !created.Before(limit) {
			break
		}
		if related.Image == "" || related.Image == b.Image {
			continue
		}
		at, err := CreationTime(ctx, sources.Images, related.Image)
		if ctx.Err() != nil {
			return time.Time{}, context.Cause(ctx)
		}
		if err == nil && at.After(created) {
			created = at
		}
	}
	return created, nil
}

// dropYoung removes the bundles that are too young from the catalog before it is filtered.
func (r *selectedCatalog) dropYoung() (err error) {
	if len(r.young) == 0 {
		return nil
	}
	drop := map[string]map[string]bool{}
	for _, y := range r.young {
		if drop[y.Package] == nil {
			drop[y.Package] = map[string]bool{}
		}
		drop[y.Package][y.Bundle] = true
	}
	if r.full, r.left, err = filter.Without(r.whole, drop); err != nil {
		return fmt.Errorf("catalog %s: leaving out bundles that are too young: %w", r.op.Catalog, err)
	}
	for _, p := range r.op.Packages {
		if drop[p.Name] != nil && r.full.Package(p.Name) == nil {
			return inputErrorf("%s: catalog %s: all bundles of package %s are younger than the minimum age: %s; remove the package until they are older", r.op.Pos, r.op.Catalog, p.Name, r.youngOf(p.Name))
		}
	}
	return nil
}

// youngOf lists the young bundles of a package; of every package for "".
func (r *selectedCatalog) youngOf(pkg string) string {
	var all []string
	for _, y := range r.young {
		if pkg == "" || y.Package == pkg {
			all = append(all, fmt.Sprintf("%s (%s)", y.Bundle, y.Created))
		}
	}
	return shortList(all)
}

// explainYoung adds to an error of the selection what was left out before.
func (r *selectedCatalog) explainYoung(err error) error {
	return advice.Wrap(advice.KindOf(err), fmt.Errorf("%w\nbundles younger than the minimum age were left out before: %s", err, r.youngOf("")), "")
}

// notesOnYoung returns notes on what was left out because of its age.
func (r *selectedCatalog) notesOnYoung() []string {
	var notes []string
	if r.undated > 0 {
		notes = append(notes, fmt.Sprintf("%s: %s an unknown age, because the image has no creation time; the minimum age does not leave them out", r.entry.Name(), count(r.undated, "bundle has", "bundles have")))
	}
	for _, l := range r.left {
		notes = append(notes, fmt.Sprintf("%s: package %q: left out because of the minimum age: %s", r.entry.Name(), l.Package, r.youngOf(l.Package)))
		if len(l.Dropped) > 0 {
			notes = append(notes, fmt.Sprintf("%s: package %q: channels without older bundles are left out: %s", r.entry.Name(), l.Package, shortList(l.Dropped)))
		}
		if l.DefaultChannel != "" {
			notes = append(notes, fmt.Sprintf("%s: package %q: the default channel is left out; %s is the default until its bundles are older", r.entry.Name(), l.Package, l.DefaultChannel))
		}
		if len(l.Needed) > 0 {
			notes = append(notes, fmt.Sprintf("%s: package %q: channels that would not be valid without younger bundles keep them: %s", r.entry.Name(), l.Package, shortList(l.Needed)))
		}
	}
	return notes
}
