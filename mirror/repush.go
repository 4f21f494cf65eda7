package mirror

import (
	"context"
	"errors"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/plan"
)

// maxFutileChecks is after how many refusals that were not caused by missing content the check for
// it is skipped, unless the registry names missing content as the reason.
const maxFutileChecks = 8

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

// repush checks every blob and child of a manifest of the image and pushes those that are missing.
// It reports whether any were, or another image had them pushed since.
func (r *run) repush(ctx context.Context, img *image, m *plan.Manifest) (again bool, err error) {
	for _, d := range m.Manifests {
		i := slices.IndexFunc(img.manifests, func(c *plan.Manifest) bool { return c.Digest == d })
		child := img.manifests[i]
		pushed, err := r.repushOnce(img.repository, d, func() (bool, error) {
			has, err := r.registry.HasManifest(ctx, img.repository, "", manifestDescriptor(child))
			if has || err != nil {
				return false, err
			}
			r.pushed.Delete(pushKeyOf(img, child, nil))
			return true, r.putManifest(ctx, img, child, nil)
		})
		if err != nil {
			return again, err
		}
		again = again || pushed
	}
	for _, d := range m.Blobs {
		i := slices.IndexFunc(img.blobs, func(b *blob) bool { return b.desc.Digest == d })
		b := img.blobs[i]
		pushed, err := r.repushOnce(img.repository, d, func() (bool, error) {
			has, err := r.registry.HasBlob(ctx, img.repository, b.descriptor())
			if has || err != nil {
				return false, err
			}
			return true, r.resendBlob(ctx, b, img.repository)
		})
		if err != nil {
			return again, explain(err, "pushing blob "+d.String()+" again")
		}
		again = again || pushed
	}
	return again, nil
}

// resendBlob sends a blob that a repository was believed to have. It is not mounted, because a
// mount may be the reason why it is missing.
func (r *run) resendBlob(ctx context.Context, b *blob, repository string) error {
	again := &blobCopy{blob: b, transfer: (&Meter{}).startTransfer(b)} // the run's meter has already counted the blob
	if err := r.findMountSource(ctx, again); err != nil {
		return err
	}
	if err := r.destination.PutBlob(ctx, repository, b.descriptor(), r.opener(again, &target{repository: repository})); err != nil {
		return err
	}
	r.count.copied.Add(1)
	r.count.copiedBytes.Add(b.desc.Size)
	return nil
}

// repushOnce calls push unless it pushed the same content to the repository before, which it also
// reports. The same content is pushed by one caller at a time.
func (r *run) repushOnce(repository string, d digest.Digest, push func() (bool, error)) (bool, error) {
	state, _ := r.repushed.LoadOrStore(pushKey{repository: repository, digest: d.String()}, &pushState{})
	p := state.(*pushState)
	p.Lock()
	defer p.Unlock()
	if p.done {
		return true, nil
	}
	pushedAgain, err := push()
	p.done = pushedAgain && err == nil
	return pushedAgain, err
}
