package mirror

import (
	"context"
	"errors"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

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

// putUntagged pushes the manifests of an image without tags.
func (r *run) putUntagged(ctx context.Context, img *image) error {
	for _, m := range img.manifests {
		if !img.onlyTagMissing {
			if err := r.putManifest(ctx, img, m, nil); err != nil {
				return err
			}
		}
		r.Meter.manifestDone(img)
	}
	return nil
}

// writeManifest pushes a manifest. A registry may refuse it because something that it names is
// missing after all: found by an earlier run and garbage-collected since, mounted with 201 and not
// present, accepted and lost. What is missing is then pushed again, and the manifest once more.
func (r *run) writeManifest(ctx context.Context, img *image, m *plan.Manifest, raw []byte, tags []string) error {
	desc := manifestDescriptor(m)
	r.beforePush(ctx)
	err := r.destination.PutManifest(ctx, img.repository, desc, raw, tags)
	if err == nil || r.registry == nil {
		return err
	}
	blobUnknown := errors.Is(err, remote.ErrBlobUnknown)
	if !blobUnknown && (!refusesManifest(err) || r.futileChecks.Load() >= maxFutileChecks) {
		return err
	}
	again, repushErr := r.repush(ctx, img, m)
	switch {
	case repushErr != nil:
		return repushErr
	case !again && !blobUnknown:
		r.futileChecks.Add(1)
		return err
	}
	// If nothing was pushed, the registry was merely behind.
	r.Log.Info("pushing a manifest again whose content was missing and is now present", "ref", img.Source, "digest", m.Digest)
	return r.destination.PutManifest(ctx, img.repository, desc, raw, tags)
}

// maxFutileChecks is after how many refusals that were not caused by missing content the check for
// it is skipped, unless the registry names missing content as the reason.
const maxFutileChecks = 8
