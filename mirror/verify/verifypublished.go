package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
)

// verifyPublished verifies what the catalogs name that a mirror still publishes since those of the current
// revision, whose plan is p, were withheld. It adds the result to r, which has the one of p.
func verifyPublished(ctx context.Context, e *env.Env, o *Options, t *site.RegistryDestination, sets *mirror.ImageSets, revision *setrecord.Revision, p *plan.Plan, r *VerifiedRegistry) error {
	published, err := otherCatalogs(ctx, t, p, r)
	if err != nil || len(published) == 0 {
		return err
	}
	listed, err := setrecord.List(ctx, sets)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(listed, func(l setrecord.Listed) bool { return l.Has(revision) })
	if i < 0 {
		return nil // another run replaced it meanwhile
	}
	revisions, err := setrecord.History(ctx, sets, &listed[i])
	if err != nil {
		return site.AdviseRecord(fmt.Errorf("reading the earlier records of image set %s in %s: %w", revision.Name, sets.Repository().Name(), err))
	}
	current := newPlannedImages(p)
	need := site.Needed{Published: published}
	for i := len(revisions) - 1; i >= 0 && !need.Empty(); i-- {
		earlier := &revisions[i]
		if earlier.Plan == revision.Plan {
			continue
		}
		old, err := site.ReadRecordedPlan(ctx, sets, earlier)
		if err != nil {
			return err
		}
		path := t.RegistryPath
		path.MaxNestedPaths = earlier.MaxNestedPaths
		names, err := path.Repositories(old)
		if err != nil {
			return err
		}
		wanted, err := need.Find(old, names)
		if err != nil {
			return err
		}
		if wanted == nil {
			continue
		}
		images := current.without(old, wanted)
		if err := verifyEarlier(ctx, e, o, earlier, old, images, r); err != nil {
			return err
		}
	}
	return nil
}

// otherCatalogs returns the catalogs that a mirror publishes in place of those of a plan, by tag and digest,
// and says in r that these are not missing but not published yet.
func otherCatalogs(ctx context.Context, t *site.RegistryDestination, p *plan.Plan, r *VerifiedRegistry) (map[reference.Reference]bool, error) {
	published := map[reference.Reference]bool{}
	for i := range p.Catalogs {
		c := &p.Catalogs[i]
		at := t.Names[c.Repository].WithTag(c.Tag)
		desc, found, err := t.Client.ManifestExists(ctx, at)
		if err != nil {
			return nil, err
		}
		if !found || desc.Digest == c.Digest {
			continue
		}
		at.Digest = desc.Digest
		published[at] = true
		for j := range r.Missing {
			if m := &r.Missing[j]; m.Repository == c.Repository && m.Digest == c.Digest {
				m.Problem = fmt.Sprintf("it is not published; the mirror still publishes %s", desc.Digest)
			}
		}
	}
	return published, nil
}

// verifyEarlier verifies images of the plan of an earlier revision, and adds the result to r.
func verifyEarlier(ctx context.Context, e *env.Env, o *Options, revision *setrecord.Revision, p *plan.Plan, images []plan.Image, r *VerifiedRegistry) error {
	only, err := p.OnlyImages(images)
	if err != nil {
		return err
	}
	t, err := site.OpenMirror(e, o.Locations[0], site.DestinationOptions{MaxNestedPaths: revision.MaxNestedPaths, CheckBlobs: o.Blobs, ReadBlobs: o.ReadBlobs})
	if err != nil {
		return err
	}
	if err := t.NameAll(only); err != nil {
		return err
	}
	to := mirror.NewRegistryByDigest(t.Client, t.Names) // tags may have newer content
	missing, err := mirror.Verify(ctx, only, to, mirror.Options{Streams: t.Streams, Log: e.Logger(), CheckBlobs: t.CheckBlobs, ReadBlobs: t.ReadBlobs})
	if err != nil {
		return err
	}
	for i := range missing {
		missing[i].Problem += fmt.Sprintf(" (of revision %d, whose catalog is still published)", revision.Number)
	}
	r.Images += len(images)
	r.Missing = append(r.Missing, missing...)
	maps.Copy(r.Names, t.Names)
	return nil
}

// plannedImages are the images of a plan.
type plannedImages map[string]bool

func newPlannedImages(p *plan.Plan) plannedImages {
	all := plannedImages{}
	for i := range p.Images {
		all[p.Images[i].Repository+"@"+string(p.Images[i].Digest)] = true
	}
	return all
}

// without returns the wanted images of an earlier plan that are not among these.
func (a plannedImages) without(earlier *plan.Plan, wanted func(*plan.Image) bool) (images []plan.Image) {
	for i := range earlier.Images {
		if img := &earlier.Images[i]; wanted(img) && !a[img.Repository+"@"+string(img.Digest)] {
			images = append(images, *img)
		}
	}
	return images
}
