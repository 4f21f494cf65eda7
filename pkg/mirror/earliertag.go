package mirror

import (
	"context"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// oc mirror and earlier versions of Gantry gave images whose source has only a digest the tag
// "sha256-<hex>" (plan.ReferrersTag). Such an image is present. It gets its own tag (plan.DigestTag) at once,
// before anything is pushed: with the first referrer, the earlier tag becomes the list of referrers, and
// nothing would name the image.

// A tagAdder is a Registry that can tag a manifest that it has.
type tagAdder interface {
	// AddTag reads a manifest by its digest and writes it under a tag.
	AddTag(ctx context.Context, repository string, desc ocispec.Descriptor, tag string) error
}

// hasTag reports whether a manifest of an image exists under a tag, or under its digest if the tag is "".
func (r *run) hasTag(ctx context.Context, img *image, m *plan.Manifest, tag string) (bool, error) {
	desc := manifestDescriptor(m)
	ok, err := r.registry.HasManifest(ctx, img.repository, tag, desc)
	if ok || err != nil || tag != plan.DigestTag(m.Digest) {
		return ok, err
	}
	r.count.queries.Add(1)
	ok, err = r.registry.HasManifest(ctx, img.repository, plan.ReferrersTag(m.Digest), desc)
	if !ok || err != nil || r.strict {
		return ok, err
	}
	to, ok := r.registry.(tagAdder)
	if !ok {
		return false, nil
	}
	if err := to.AddTag(ctx, img.repository, desc, tag); err != nil {
		return false, explain(err, "adding the tag "+tag)
	}
	r.Log.Debug("the image has a tag of its own now", "ref", img.Source, "repository", img.repository, "tag", tag)
	return true, nil
}
