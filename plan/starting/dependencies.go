package starting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/resolve"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/plan/listing"
)

// alsoRequired is the comment of dependencies: true.
const alsoRequired = "Also the operators that the selected ones require."

// otherwise is where operators for clusters without OpenShift usually are.
const otherwise = "quay.io/operatorhubio/catalog:latest"

// complete selects what the operators of a draft require, if their catalogs do not have it: from catalogs beside them. What
// is in none becomes a comment. If the catalogs cannot be read, that is a note.
func (o *Options) complete(ctx context.Context, r *workspace.Sources, d *Draft) error {
	near := d.beside()
	for {
		s, err := o.selected(ctx, r, d)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			d.Notes = append(d.Notes, "what the operators require was not checked: "+advice.Text(err))
			return nil
		}
		if len(s.Unmet) == 0 {
			return nil
		}
		if d.requireAll() {
			continue // the same catalogs may have it
		}
		for !d.addFrom(near, s) {
			if len(near.names) == 0 {
				d.explain(near, s.Unmet)
				return nil
			}
			if err := o.readNext(ctx, r, near); err != nil {
				return err
			}
		}
	}
}

// selected returns what the catalogs of a draft have of its selection.
func (o *Options) selected(ctx context.Context, r *workspace.Sources, d *Draft) (*build.Selection, error) {
	text, err := d.Config.YAML(nil)
	if err != nil {
		return nil, err
	}
	c, err := parse(text)
	if err != nil {
		return nil, err
	}
	return build.Select(ctx, c, r.Plan(), build.Options{Log: o.Env.Logger(), Warn: func(text string) { o.Env.Warnf("%s", text) }})
}

// requireAll makes all catalogs of a draft provide what operators require, and reports whether that changed anything.
func (d *Draft) requireAll() (changed bool) {
	for i := range d.Config.Mirror.Operators {
		if op := &d.Config.Mirror.Operators[i]; !op.Dependencies {
			op.Dependencies, changed = true, true
			d.Comments[fmt.Sprintf("mirror.operators[%d].dependencies", i)] = alsoRequired
		}
	}
	return changed
}

// A beside has the catalogs beside those of a draft. They are read one after the other, as long as something is missing.
type beside struct {
	names    []string // still to be read
	catalogs []resolve.Catalog
	unread   []string // those that could not be read, with the reason
}

// beside returns the catalogs beside those of a draft.
func (d *Draft) beside() *beside {
	var names []string
	for _, op := range d.Config.Mirror.Operators {
		names = append(names, listing.Beside(op.Catalog)...)
	}
	near := &beside{}
	for _, name := range append(names, d.Beside...) {
		if !slices.Contains(near.names, name) && !d.names(name) {
			near.names = append(near.names, name)
		}
	}
	return near
}

// readNext reads the outline of the next catalog. One that does not exist is left out.
func (o *Options) readNext(ctx context.Context, r *workspace.Sources, near *beside) error {
	name := near.names[0]
	near.names = near.names[1:]
	o.Env.Noticef("reading %s for what operators require", name)
	c, err := r.Read(ctx, name, catalog.Options{Outline: true, Keep: func(string) bool { return false }})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil:
		near.catalogs = append(near.catalogs, resolve.Catalog{Name: name, Original: c})
	case !errors.Is(err, remote.ErrNotFound):
		near.unread = append(near.unread, name+" ("+env.ErrorText(err)+")")
	}
	return nil
}

// names reports whether a draft has a catalog.
func (d *Draft) names(catalog string) bool {
	return slices.ContainsFunc(d.Config.Mirror.Operators, func(op imageset.Operator) bool { return op.Catalog == catalog })
}

// addFrom adds what is required from the catalogs beside those of a draft, and reports whether there was any.
func (d *Draft) addFrom(near *beside, s *build.Selection) (added bool) {
	var sides []resolve.Catalog
	for _, c := range s.Catalogs {
		sides = append(sides, resolve.Catalog{Name: c.Catalog.Name(), Wanted: true, Kept: c.Result.Catalog, Original: c.Original})
	}
	for _, c := range near.catalogs {
		if !d.names(c.Name) {
			sides = append(sides, c)
		}
	}
	operators := &d.Config.Mirror.Operators
	for _, a := range resolve.Dependencies(sides, nil).Additions {
		i := slices.IndexFunc(near.catalogs, func(c resolve.Catalog) bool { return c.Name == a.Catalog })
		if i < 0 {
			continue
		}
		at := slices.IndexFunc(*operators, func(op imageset.Operator) bool { return op.Catalog == a.Catalog })
		if at < 0 {
			at = len(*operators)
			*operators = append(*operators, imageset.Operator{Catalog: a.Catalog, Dependencies: true})
			d.Comments[fmt.Sprintf("mirror.operators[%d]", at)] = "What operators of other catalogs require."
		}
		op := &(*operators)[at]
		if slices.ContainsFunc(op.Packages, func(p imageset.Package) bool { return p.Name == a.Package }) {
			continue
		}
		p := imageset.Package{Name: a.Package, Channels: []imageset.Channel{{Name: a.Channel}}}
		if known := near.catalogs[i].Original.Outlines; outline(known, a.Package).DefaultChannel != a.Channel {
			p.DefaultChannel = a.Channel
		}
		why := a.For[0].String()
		d.Comments[fmt.Sprintf("mirror.operators[%d].packages[%d]", at, len(op.Packages))] = "Required: " + why
		d.Notes = append(d.Notes, fmt.Sprintf("package %s of %s is selected, too: %s", a.Package, a.Catalog, why))
		op.Packages, added = append(op.Packages, p), true
	}
	return added
}

// outline returns the package with a name, which the packages have.
func outline(packages []*catalog.Package, name string) *catalog.Package {
	return packages[slices.IndexFunc(packages, func(p *catalog.Package) bool { return p.Name == name })]
}

// explain adds comments about requirements that no catalog meets, and where these usually are.
func (d *Draft) explain(near *beside, unmet []resolve.Unsatisfied) {
	where := "Add the catalog of its publisher to operators."
	switch {
	case len(near.unread) > 0:
		where = "Look for it in " + strings.Join(near.unread, ", ") + ", which could not be read, and add it to operators."
	case len(near.catalogs) == 0 && !d.names(otherwise):
		where = "For OpenShift, it is usually in one of the catalogs that gantry list catalogs --version shows, otherwise in\n" + otherwise + ". Add the catalog to operators."
	}
	paths := map[string]bool{}
	for _, u := range unmet {
		at := slices.IndexFunc(d.Config.Mirror.Operators, func(op imageset.Operator) bool {
			return op.Catalog == u.Catalog || op.TargetCatalog != "" && strings.HasPrefix(u.Catalog, op.TargetCatalog)
		})
		path := fmt.Sprintf("mirror.operators[%d]", max(at, 0))
		if i := slices.IndexFunc(d.Config.Mirror.Operators[max(at, 0)].Packages, func(p imageset.Package) bool { return p.Name == u.Package }); i >= 0 {
			path += fmt.Sprintf(".packages[%d]", i)
		}
		d.Comments[path] = strings.TrimPrefix(d.Comments[path]+"\n", "\n") + "Missing: " + u.String()
		paths[path] = true
		d.Notes = append(d.Notes, u.String())
	}
	for path := range paths {
		d.Comments[path] += "\n" + where
	}
}
