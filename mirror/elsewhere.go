package mirror

import (
	"context"
	"io"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/plan"
)

// A reader is a Registry that content can be read from, too, while it is sent there.
type reader interface {
	Blob(ctx context.Context, repository string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error)
}

// findElsewhere looks for a blob that the source leaves out in the repository where it
// was put before. The error returned ends the run; what goes wrong otherwise is met
// again by the source's lack.
func (r *run) findElsewhere(ctx context.Context, b *delivery) error {
	if r.registry == nil || r.Elsewhere == nil || len(b.known) > 0 {
		return nil
	}
	repository := r.Elsewhere(b.descriptor())
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
		r.Log.Warn("content that an earlier archive brought cannot be looked for", "digest", b.desc.Digest, "repository", repository, "error", err)
	case has:
		b.elsewhere, b.known = repository, append(b.known, repository)
	}
	return nil
}

// openElsewhere reads a blob that the source leaves out from the sink, which did not
// mount it.
func (r *run) openElsewhere(ctx context.Context, b *delivery, offset int64) (io.ReadCloser, bool) {
	from, ok := r.registry.(reader)
	if !ok || r.Elsewhere == nil || len(b.known) == 0 || ctx.Err() != nil {
		return nil, false
	}
	body, err := from.Blob(ctx, b.known[0], b.descriptor(), offset)
	if err != nil {
		r.Log.Warn("a blob cannot be read back from the destination", "digest", b.desc.Digest, "repository", b.known[0], "error", err)
	}
	return body, err == nil
}

// Lacking finds what images of the plan need that are not at the registry, which the
// source, for which has speaks, does not have, and the registry neither: blobs are
// looked for in the repositories that need them and in that of opts.Elsewhere. The list
// is sorted by digest.
func Lacking(ctx context.Context, p *plan.Plan, sink Registry, has func(ocispec.Descriptor) bool, opts Options) ([]ocispec.Descriptor, error) {
	r, err := looked(ctx, p, sink, opts)
	if err != nil {
		return nil, err
	}
	var lacking []ocispec.Descriptor
	counted := map[string]bool{}
	for _, img := range r.images {
		for _, m := range img.manifests {
			desc := manifestDescriptor(m)
			if !img.present && !img.stays && !counted[m.Digest.String()] && !has(desc) {
				counted[m.Digest.String()] = true
				lacking = append(lacking, desc)
			}
		}
	}
	var absent []*blob
	for _, b := range r.need() {
		if len(b.known()) == 0 && !has(b.descriptor()) {
			absent = append(absent, b)
		}
	}
	found := make([]bool, len(absent))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(r.Streams)
	for i, b := range absent {
		g.Go(func() error {
			var err error
			found[i], err = r.standsSomewhere(ctx, b)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for i, b := range absent {
		if !found[i] {
			lacking = append(lacking, b.descriptor())
		}
	}
	slices.SortFunc(lacking, func(a, b ocispec.Descriptor) int { return strings.Compare(string(a.Digest), string(b.Digest)) })
	return lacking, nil
}

// standsSomewhere asks for a blob where it may be.
func (r *run) standsSomewhere(ctx context.Context, b *blob) (bool, error) {
	var where []string
	if r.Elsewhere != nil {
		if repository := r.Elsewhere(b.descriptor()); repository != "" {
			where = append(where, repository)
		}
	}
	for _, h := range b.homes() {
		if !slices.Contains(where, h.repository) {
			where = append(where, h.repository)
		}
	}
	for _, repository := range where {
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
	return explain(err, "looking for blob "+b.desc.Digest.String())
}
