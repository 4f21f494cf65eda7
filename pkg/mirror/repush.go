package mirror

import (
	"context"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

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
