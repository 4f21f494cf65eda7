package gantry

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/prune"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
	"github.com/gantry-mirror/gantry/plan"
)

// keepPublished finds the content of earlier turns that the current one needs: catalogs that are still
// published since the newer one was withheld, with everything they name, the releases before one that was
// withheld, and images that are missing at their sources.
func (r *recordedTurns) keepPublished(ctx context.Context, set *turnsOfSet) (err error) {
	if set.record, err = setrecord.ReadRecord(ctx, r.records, set.current()); err != nil {
		return err
	}
	p, names, err := r.readPlan(ctx, set.current())
	if err != nil {
		return err
	}
	need := needed{published: map[reference.Reference]bool{}, missing: map[string]bool{}}
	for i := range p.Catalogs {
		c := &p.Catalogs[i]
		at := names[c.Repository].WithTag(c.Tag)
		desc, found, err := r.to.Client.ManifestExists(ctx, at)
		if err != nil {
			return err
		}
		if found && desc.Digest != c.Digest {
			at.Digest = desc.Digest
			need.published[at] = true
		}
	}
	for i := range p.Releases {
		release := &p.Releases[i]
		_, found, err := r.to.Client.ManifestExists(ctx, names[release.Repository].WithTag(release.Tag))
		if err != nil {
			return err
		}
		need.releases = need.releases || !found
	}
	for _, m := range p.Missing {
		need.missing[m.Source] = true
	}
	if set.forgotten {
		need.missing, need.releases = map[string]bool{}, false
	}
	for i := range set.record.Images { // from before the mirror had records
		img := &set.record.Images[i]
		if need.missing[img.Source.String()] {
			r.all.AddImage(prune.Turn{ImageSet: set.current().Name}, inMirror(img.Mirror, img.Source), img.Source.String(), true)
		}
	}
	if !set.forgotten {
		if err := r.keepPublishedByPending(ctx, set.current().Name, need.published); err != nil {
			return err
		}
	}
	for i := len(set.turns) - 2; i >= 0 && !need.empty(); i-- {
		p, names, err := r.readPlan(ctx, &set.turns[i])
		if err != nil {
			return err
		}
		if set.partly[i], err = need.find(p, names); err != nil {
			return err
		}
	}
	if set.forgotten {
		clear(set.partly)
		r.published = slices.AppendSeq(r.published, maps.Keys(need.published))
		return nil
	}
	for at := range need.published {
		return unlistedCatalog(at)
	}
	return nil
}

// unlistedCatalog returns the error for a catalog in the mirror that no record lists.
func unlistedCatalog(at reference.Reference) error {
	return advice.New(advice.Failure, "mirror the catalog again with gantry mirror, so that one is published that a record lists, and prune then",
		"the mirror publishes the catalog %s, and no record lists what it names: nothing was deleted", at)
}

// A needed is what the current turn of an image set needs of earlier ones.
type needed struct {
	// published are catalogs in the mirror, by tag and digest, that are not those of the current turn.
	published map[reference.Reference]bool
	// missing are the sources of images that are unavailable.
	missing map[string]bool
	// releases means that a release of the current turn is not published, so that those before it stay.
	releases bool
}

func (n *needed) empty() bool { return len(n.published)+len(n.missing) == 0 && !n.releases }

// find returns which images of an earlier plan are needed, nil if none is, and removes from n what it found.
func (n *needed) find(p *plan.Plan, names map[string]reference.Reference) (func(*plan.Image) bool, error) {
	catalogs := map[string]bool{}
	for i := range p.Catalogs {
		c := &p.Catalogs[i]
		at := names[c.Repository].WithTag(c.Tag)
		at.Digest = c.Digest
		if n.published[at] {
			catalogs[c.Name()] = true
			delete(n.published, at)
		}
	}
	releases := n.releases && len(p.Releases) > 0
	n.releases = n.releases && !releases
	var images []plan.Image
	var found []string
	for i := range p.Images {
		img := &p.Images[i]
		named := slices.ContainsFunc(img.Reasons, func(b plan.Reason) bool { return catalogs[b.Catalog] || releases && b.Release != "" })
		if n.missing[img.Source] {
			found = append(found, img.Source)
		}
		if named || catalogs[img.Catalog] && img.Kind == plan.CatalogImage || n.missing[img.Source] {
			images = append(images, *img)
		}
	}
	if len(images) == 0 {
		return nil, nil
	}
	for _, source := range found {
		delete(n.missing, source)
	}
	images, err := p.WithAttached(images)
	if err != nil {
		return nil, err
	}
	type key struct {
		repository string
		digest     digest.Digest
		tag        string
	}
	keyOf := func(img *plan.Image) key {
		return key{img.Repository, img.Digest, strings.Join(img.Tags, " ")}
	}
	wanted := map[key]bool{}
	for i := range images {
		wanted[keyOf(&images[i])] = true
	}
	return func(img *plan.Image) bool { return wanted[keyOf(img)] }, nil
}
