package removal

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/mirror/prune"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
)

// keepPublished finds the content of earlier revisions that the current one needs: catalogs that are still
// published since the newer one was withheld, with everything they name, the releases before one that was
// withheld, images that are missing at their sources, and bundles that clusters run.
func (r *recordedRevisions) keepPublished(ctx context.Context, set *revisionsOfSet) (err error) {
	if set.record, err = setrecord.ReadRecord(ctx, r.records, set.current()); err != nil {
		return err
	}
	p, names, err := r.readPlan(ctx, set.current())
	if err != nil {
		return err
	}
	need := site.Needed{Published: map[reference.Reference]bool{}, Missing: map[string]bool{}}
	for i := range p.Catalogs {
		c := &p.Catalogs[i]
		at := names[c.Repository].WithTag(c.Tag)
		desc, found, err := r.to.Client.ManifestExists(ctx, at)
		if err != nil {
			return err
		}
		if found && desc.Digest != c.Digest {
			at.Digest = desc.Digest
			need.Published[at] = true
		}
	}
	for i := range p.Releases {
		release := &p.Releases[i]
		_, found, err := r.to.Client.ManifestExists(ctx, names[release.Repository].WithTag(release.Tag))
		if err != nil {
			return err
		}
		need.Releases = need.Releases || !found
	}
	for _, m := range p.Missing {
		need.Missing[m.Source] = true
	}
	if !set.forgotten && r.listed == nil {
		if need.Installed, err = installedOf(set.record, p); err != nil {
			return err
		}
		current := site.Needed{Installed: need.Installed} // what it has stays anyway
		if _, err := current.Find(p, names); err != nil {
			return err
		}
	}
	if set.forgotten {
		need.Missing, need.Releases = map[string]bool{}, false
	}
	for i := range set.record.Images { // from before the mirror had records
		img := &set.record.Images[i]
		if need.Missing[img.Source.String()] {
			r.all.AddImage(prune.Revision{ImageSet: set.current().Name}, site.InMirror(img.Mirror, img.Source), img.Source.String(), true)
		}
	}
	if !set.forgotten {
		if err := r.keepPublishedByPending(ctx, set.current().Name, need.Published); err != nil {
			return err
		}
	}
	for i := len(set.revisions) - 2; i >= 0 && !need.Empty(); i-- {
		p, names, err := r.readPlan(ctx, &set.revisions[i])
		if err != nil {
			return err
		}
		if set.partly[i], err = need.Find(p, names); err != nil {
			return err
		}
	}
	if set.forgotten {
		clear(set.partly)
		r.published = slices.AppendSeq(r.published, maps.Keys(need.Published))
		return nil
	}
	for at := range need.Published {
		return unlistedCatalog(at)
	}
	return nil
}

// unlistedCatalog returns the error for a catalog in the mirror that no record lists.
func unlistedCatalog(at reference.Reference) error {
	return advice.New(advice.Failure, "mirror the catalog again with gantry mirror, so that one is published that a record lists, and prune then",
		"the mirror publishes the catalog %s, and no record lists what it names: nothing was deleted", at)
}

// installedOf returns the bundles that clusters run by the record of an image set and by the configuration of its plan, as
// in site.Needed.
func installedOf(record *state.Record, p *plan.Plan) (map[[2]string]bool, error) {
	all := map[[2]string]bool{}
	if record.Clusters != nil {
		for _, o := range record.Clusters.Operators {
			all[[2]string{o.Package, cmp.Or(o.Bundle, o.Version)}] = true
		}
	}
	for i := range p.Catalogs {
		entry, err := imageset.ParseOperator(p.Catalogs[i].Selection)
		if err != nil {
			return nil, fmt.Errorf("reading the selection of catalog %s: %w", p.Catalogs[i].Source, err)
		}
		for _, in := range entry.Installed {
			all[[2]string{in.Package, cmp.Or(in.Bundle, in.Version)}] = true
		}
	}
	return all, nil
}
