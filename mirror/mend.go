package mirror

import (
	"context"
	"errors"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/plan"
)

// inVain is after how many refusals that were not for want of content it is no
// longer looked for, unless a registry says that this is what it refuses for.
const inVain = 8

// write puts a manifest. A registry may refuse it since something that it names
// is not there after all: found by an earlier run and collected since, mounted
// with 201 and not there, accepted and lost. What is absent is then brought
// again, and the manifest once more.
func (r *run) write(ctx context.Context, img *image, m *plan.Manifest, raw []byte, tags []string) error {
	desc := manifestDescriptor(m)
	err := r.sink.PutManifest(ctx, img.repository, desc, raw, tags)
	if err == nil || r.registry == nil {
		return err
	}
	said := errors.Is(err, remote.ErrBlobUnknown)
	if !said && (!refuses(err) || r.vain.Load() >= inVain) {
		return err
	}
	again, broken := r.mend(ctx, img, m)
	switch {
	case broken != nil:
		return broken
	case !again && !said:
		r.vain.Add(1)
		return err
	}
	// Where nothing was brought, the registry had not caught up with itself.
	r.Log.Info("a manifest was refused for what it names, and that is there now", "ref", img.Source, "digest", m.Digest)
	return r.sink.PutManifest(ctx, img.repository, desc, raw, tags)
}

// mend asks for every blob and child of a manifest of the image and brings those
// that are not there. It reports whether there were any, or another image had
// them brought since.
func (r *run) mend(ctx context.Context, img *image, m *plan.Manifest) (again bool, err error) {
	for _, d := range m.Manifests {
		i := slices.IndexFunc(img.manifests, func(c *plan.Manifest) bool { return c.Digest == d })
		child := img.manifests[i]
		brought, err := r.once(img.repository, d, func() (bool, error) {
			has, err := r.registry.HasManifest(ctx, img.repository, "", manifestDescriptor(child))
			if has || err != nil {
				return false, err
			}
			r.pushed.Delete(keyOf(img, child, nil))
			return true, r.put(ctx, img, child, nil)
		})
		if err != nil {
			return again, err
		}
		again = again || brought
	}
	for _, d := range m.Blobs {
		i := slices.IndexFunc(img.blobs, func(b *blob) bool { return b.desc.Digest == d })
		b := img.blobs[i]
		brought, err := r.once(img.repository, d, func() (bool, error) {
			has, err := r.registry.HasBlob(ctx, img.repository, b.descriptor())
			if has || err != nil {
				return false, err
			}
			return true, r.resend(ctx, b, img.repository)
		})
		if err != nil {
			return again, explain(err, "bringing blob "+d.String()+" again")
		}
		again = again || brought
	}
	return again, nil
}

// resend sends a blob that a repository was believed to have. No mount is asked
// for, since that may be how it came to be believed.
func (r *run) resend(ctx context.Context, b *blob, repository string) error {
	again := &delivery{blob: b, flight: (&Meter{}).fly(b)} // the run's meter has counted the blob
	if err := r.findElsewhere(ctx, again); err != nil {
		return err
	}
	if err := r.sink.PutBlob(ctx, repository, b.descriptor(), r.open(again, &home{repository: repository})); err != nil {
		return err
	}
	r.count.copied.Add(1)
	r.count.copiedBytes.Add(b.desc.Size)
	return nil
}

// once calls bring unless it brought the same content to the repository before,
// which it reports too. The same content is brought by one at a time.
func (r *run) once(repository string, d digest.Digest, bring func() (bool, error)) (bool, error) {
	slot, _ := r.mended.LoadOrStore(pushKey{repository: repository, digest: d.String()}, &push{})
	p := slot.(*push)
	p.Lock()
	defer p.Unlock()
	if p.done {
		return true, nil
	}
	brought, err := bring()
	p.done = brought && err == nil
	return brought, err
}
