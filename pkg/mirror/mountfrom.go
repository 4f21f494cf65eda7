package mirror

import (
	"context"
	"io"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A blobReader is a Registry from which content can be read, too, also while a blob is pushed to
// it.
type blobReader interface {
	Blob(ctx context.Context, repository string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error)
}

// findMountSource looks for a blob that the source omits in the repository to which an earlier run
// copied it. An error that it returns ends the run. Other errors are only logged: reading the blob
// from the source will fail, too.
func (r *run) findMountSource(ctx context.Context, b *blobCopy) error {
	if r.registry == nil || r.MountFrom == nil || len(b.known) > 0 {
		return nil
	}
	repository := r.MountFrom(b.descriptor())
	if repository == "" {
		return nil
	}
	has, err := r.registry.HasBlob(ctx, repository, b.descriptor())
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case r.fatal(err):
		return err
	case err != nil:
		r.Log.Warn("cannot check for a blob of an earlier archive at the destination", "digest", b.desc.Digest, "repository", repository, "error", err)
	case has:
		b.mountRepository, b.known = repository, append(b.known, repository)
	}
	return nil
}

// openAtDestination reads a blob that the source omits from the destination, which did not mount
// it.
func (r *run) openAtDestination(ctx context.Context, b *blobCopy, offset int64) (io.ReadCloser, bool) {
	from, ok := r.registry.(blobReader)
	if !ok || r.MountFrom == nil || len(b.known) == 0 || ctx.Err() != nil {
		return nil, false
	}
	body, err := from.Blob(ctx, b.known[0], b.descriptor(), offset)
	if err != nil {
		r.Log.Warn("a blob cannot be read from the destination", "digest", b.desc.Digest, "repository", b.known[0], "error", err)
	}
	return body, err == nil
}

// MissingContent returns the content of the plan's images that neither the registry has, nor the
// source, for which has is called. Blobs are looked for in the repositories that need them and in
// the one of opts.MountFrom. The list is sorted by digest.
func MissingContent(ctx context.Context, p *plan.Plan, registry Registry, has func(ocispec.Descriptor) bool, opts Options) ([]ocispec.Descriptor, error) {
	r, err := newComparison(ctx, p, registry, opts)
	if err != nil {
		return nil, err
	}
	var missing []ocispec.Descriptor
	counted := map[string]bool{}
	for _, img := range r.images {
		for _, m := range img.manifests {
			desc := manifestDescriptor(m)
			if !img.present && !img.onlyTagMissing && !counted[m.Digest.String()] && !has(desc) {
				counted[m.Digest.String()] = true
				missing = append(missing, desc)
			}
		}
	}
	absent := elements.Filter(r.neededBlobs(), func(b *blob) bool { return len(b.known()) == 0 && !has(b.descriptor()) })
	found := make([]bool, len(absent))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(r.Streams)
	for i, b := range absent {
		g.Go(func() error {
			var err error
			found[i], err = r.hasBlobAnywhere(ctx, b)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for i, b := range absent {
		if !found[i] {
			missing = append(missing, b.descriptor())
		}
	}
	elements.Sort(missing, func(a, b ocispec.Descriptor) int { return strings.Compare(string(a.Digest), string(b.Digest)) })
	return missing, nil
}

// hasBlobAnywhere looks for a blob in the repositories where it may be.
func (r *run) hasBlobAnywhere(ctx context.Context, b *blob) (bool, error) {
	var repositories []string
	if r.MountFrom != nil {
		if repository := r.MountFrom(b.descriptor()); repository != "" {
			repositories = append(repositories, repository)
		}
	}
	for _, h := range b.targets() {
		if !slices.Contains(repositories, h.repository) {
			repositories = append(repositories, h.repository)
		}
	}
	for _, repository := range repositories {
		if has, err := r.registry.HasBlob(ctx, repository, b.descriptor()); err != nil || has {
			return has, explainLook(err, b)
		}
	}
	return false, nil
}

func explainLook(err error, b *blob) error {
	if err == nil {
		return nil
	}
	return explain(err, "checking blob "+b.desc.Digest.String())
}
