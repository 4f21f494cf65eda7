package mirror

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// compareImage finds out whether an image is present, or all of it but its tag.
func (v *repositoryCheck) compareImage(ctx context.Context, img *image) error {
	present, children, err := v.isPresent(ctx, img)
	v.Meter.addCompared(1)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		err = fmt.Errorf("looking for %s at the destination: %w", img.name(), err)
		if v.strict || v.Fatal(err) {
			return err
		}
		// Only this repository is affected; pushing will show whether that fails, too.
		v.Log.Warn("an image cannot be looked for and is copied", "ref", img.Source, "error", err)
		v.nonEmpty.Store(img.repository, struct{}{})
		return nil
	}
	img.present = present
	if present || v.CheckBlobs || img.isReferrer() || !v.untagged.Load() || !v.KnownTags.known(img.repository, img.Image) {
		return nil
	}
	if img.onlyTagMissing, err = v.presentByDigest(ctx, img, children); err == nil && !img.onlyTagMissing {
		v.untagged.Store(false)
	}
	return err
}

// name returns the name of the image at the destination, without the host. Its source may be a
// folder, which means nothing at the destination.
func (img *image) name() string {
	if len(img.Tags) == 0 {
		return img.Repository + "@" + img.Digest.String()
	}
	return img.Repository + ":" + img.Tags[0]
}

// isPresent requests the image, unless the list of tags shows whether it exists, and its children.
// It reports whether the image is present, and whether its children are in any case. If an earlier
// run pushed the image, all requests are made at the same time.
func (v *repositoryCheck) isPresent(ctx context.Context, img *image) (present, children bool, err error) {
	if img.isReferrer() {
		listed, err := v.isListed(ctx, img)
		if !listed || err != nil || v.trusted(img) {
			return listed, false, err
		}
	}
	last := len(img.manifests) - 1
	tags := img.Tags
	if len(tags) == 0 {
		tags = []string{""}
	}
	if v.list != nil {
		if found, known := v.list.tags[tags[0]]; known && !found {
			return false, false, nil
		} else if known {
			tags = nil
		}
	}
	queries := make([]manifestQuery, 0, len(tags)+last)
	for _, tag := range tags {
		queries = append(queries, manifestQuery{img.manifests[last], tag})
	}
	for _, m := range img.manifests[:last] {
		queries = append(queries, manifestQuery{m, ""})
	}
	first := 0 // the number of requests before the others
	if len(tags) > 0 && !v.KnownTags.known(img.repository, img.Image) {
		first = 1
	}
	var found []bool
	for _, part := range [][]manifestQuery{queries[:first], queries[first:]} {
		responses, err := v.hasManifests(ctx, img, part)
		if err != nil {
			return false, false, err
		}
		if found = append(found, responses...); slices.Contains(responses, false) {
			return false, len(found) == len(queries) && !slices.Contains(found[len(tags):], false), nil
		}
	}
	if v.CheckBlobs {
		problem, _, err := v.contentProblem(ctx, img)
		return err == nil && problem == "", true, err
	}
	return true, true, nil
}

// A manifestQuery asks whether a manifest exists under a tag, or under its digest if the tag is
// empty.
type manifestQuery struct {
	manifest *plan.Manifest
	tag      string
}

// hasManifests makes several queries about an image at the same time.
func (r *run) hasManifests(ctx context.Context, img *image, queries []manifestQuery) (found []bool, err error) {
	found = make([]bool, len(queries))
	r.count.queries.Add(int64(len(queries)))
	query := func(i int) (err error) {
		found[i], err = r.hasTag(ctx, img, queries[i].manifest, queries[i].tag)
		return err
	}
	if len(queries) == 1 {
		return found, query(0)
	}
	var g errgroup.Group
	g.SetLimit(r.Streams)
	for i := range queries {
		g.Go(func() error { return query(i) })
	}
	return found, g.Wait()
}

// presentByDigest requests a known image by its digests, which needs no tag: its root, and its
// children unless they are known to be present. So a tag that was deleted is restored with one
// request.
func (r *run) presentByDigest(ctx context.Context, img *image, children bool) (bool, error) {
	manifests := img.manifests
	if children {
		manifests = manifests[len(manifests)-1:]
	}
	for _, m := range slices.Backward(manifests) {
		r.count.queries.Add(1)
		ok, err := r.registry.HasManifest(ctx, img.repository, "", manifestDescriptor(m))
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if err != nil && r.Fatal(err) {
			return false, fmt.Errorf("looking for %s at the destination: %w", img.name(), err)
		}
		if !ok || err != nil {
			return false, nil // pushing will show the problem, if any
		}
	}
	return true, nil
}
