package copying

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site"
)

// tagUntagged gives a tag to each manifest of a plan that may have none at the mirror, now or later: the images of indexes,
// referrers, and what has a tag that can name another image once the source changes, while an image set or an earlier revision
// still needs this one. Garbage collection that deletes untagged manifests may otherwise delete them or their blobs. It makes
// a request for each repository with such manifests, and two for each new tag.
func tagUntagged(ctx context.Context, t *site.RegistryDestination, p *plan.Plan) error {
	untagged, err := untagged(t, p)
	if err != nil {
		return err
	}
	g, tagging := errgroup.WithContext(ctx)
	g.SetLimit(max(t.Streams, 1))
	for _, repository := range slices.Sorted(maps.Keys(untagged)) {
		g.Go(func() error {
			at := t.Names[repository]
			tags, err := t.Client.Tags(tagging, at, 0)
			if errors.Is(err, fs.ErrNotExist) {
				return nil // nothing arrived
			}
			for _, d := range untagged[repository] {
				tag := plan.OwnTag(d)
				if err != nil || slices.Contains(tags, tag) {
					continue
				}
				err = putTag(tagging, t, repository, d, tag)
			}
			if err != nil {
				return fmt.Errorf("tagging manifests of %s: %w", at.Name(), err)
			}
			return nil
		})
	}
	return g.Wait()
}

// putTag gives a manifest of the mirror a tag, if it exists.
func putTag(ctx context.Context, t *site.RegistryDestination, repository string, d digest.Digest, tag string) error {
	desc, raw, err := t.Client.Manifest(ctx, t.Names[repository].WithDigest(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it could not be copied, which was reported
	}
	if err != nil {
		return err
	}
	return t.Client.PushManifest(ctx, t.Names[repository].WithTag(tag), desc.MediaType, raw)
}

// untagged returns the manifests that a plan gives no tag made of their digest, by repository, sorted.
func untagged(t *site.RegistryDestination, p *plan.Plan) (map[string][]digest.Digest, error) {
	if err := t.NameAll(p); err != nil {
		return nil, err
	}
	contents, err := p.Contents()
	if err != nil {
		return nil, err
	}
	type place struct {
		repository string
		digest     digest.Digest
	}
	tagged := map[place]bool{} // whether each manifest has a tag that only it can have
	for i := range p.Images {
		img := &p.Images[i]
		err := contents.Walk(img.Digest, func(m *plan.Manifest) error {
			at := place{img.Repository, m.Digest}
			tagged[at] = tagged[at] || m.Digest == img.Digest && slices.ContainsFunc(img.Tags, func(tag string) bool { return plan.IsDigestTag(tag, m.Digest) })
			return nil
		}, func(plan.Blob) error { return nil })
		if err != nil {
			return nil, err
		}
	}
	untagged := map[string][]digest.Digest{}
	for at, has := range tagged {
		if !has {
			untagged[at.repository] = append(untagged[at.repository], at.digest)
		}
	}
	for _, all := range untagged {
		slices.Sort(all)
	}
	return untagged, nil
}
