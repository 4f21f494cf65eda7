package mirror

import (
	"context"

	"github.com/gantry-mirror/gantry/plan"
)

// publish pushes the manifests of an image, unless one of its blobs failed. An error that it
// returns ends the run; other errors are recorded for the image.
func (r *run) publish(ctx context.Context, img *image) error {
	if len(img.attachments) > 0 {
		return r.publishUntagged(ctx, img)
	}
	err := img.err // nothing else changes it now
	if err == nil {
		err = r.putManifests(ctx, img)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.fatalWrite(err) {
		return err
	}
	r.attachmentPushed(img)
	if r.registry != nil {
		return r.confirmLater(ctx, img, err)
	}
	r.finish(img, err)
	return nil
}

// putManifests pushes an image's manifests, children first, and its tags last.
func (r *run) putManifests(ctx context.Context, img *image) error {
	for i, m := range img.manifests {
		tags := img.tagsOf(i)
		if !img.onlyTagMissing && !img.untagged || len(tags) > 0 {
			if err := r.putManifest(ctx, img, m, tags); err != nil {
				return err
			}
		}
		r.Meter.manifestDone(img)
	}
	return nil
}

// tagsOf returns the tags of the image's i-th manifest: all tags for the root, none for its
// children.
func (img *image) tagsOf(i int) []string {
	if i == len(img.manifests)-1 {
		return img.Tags
	}
	return nil
}

// putManifest pushes one manifest, once per repository and tags.
func (r *run) putManifest(ctx context.Context, img *image, m *plan.Manifest, tags []string) error {
	desc := manifestDescriptor(m)
	p := r.pushStateOf(img, m, tags)
	p.Lock()
	defer p.Unlock()
	if p.done {
		return nil
	}
	if r.store != nil && r.store.Has(desc) {
		p.done = true
		return nil
	}
	missing, push := r.missingTags(img, m, tags)
	if !push {
		p.done = true
		return nil
	}
	_, raw, err := r.source.Manifest(ctx, img.Source, desc.Digest)
	if err != nil {
		return &sourceError{explain(err, "reading manifest "+desc.Digest.String())}
	}
	err = r.writeManifest(ctx, img, m, raw, missing)
	if end := r.recordManifest(img.repository, m.Digest, err); end != nil {
		return end
	}
	if err != nil {
		if m.Sparse && refusesManifest(err) {
			err = &SparseError{Image: img.Source, Err: err}
		}
		return explain(err, "writing manifest "+desc.Digest.String())
	}
	p.done = true
	r.count.manifests.Add(1)
	r.count.manifestBytes.Add(desc.Size)
	r.Meter.addManifest(desc.Size)
	return nil
}
