package proof

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/release/payload"
)

// A Release is a release image of the mirror.
type Release struct {
	payload.Release
	// Tag is the one by which it was found, and Ref its repository and digest.
	Tag, Ref string
	// Err says why the image that the tag names cannot be read; the rest is empty
	// then.
	Err error
}

// Read reads what update services read of the images that have a tag in a
// repository, jobs at a time. As they do, it passes over signatures, over images
// that are no releases and over single images of a release for several
// architectures. An image that is there in part is a Release with an Err; other
// failures are an error.
func Read(ctx context.Context, src payload.Source, repository string, tags []string, jobs int) ([]Release, error) {
	tags = slices.DeleteFunc(slices.Clone(tags), func(tag string) bool { return strings.Contains(tag, ".sig") })
	slices.Sort(tags)
	found := make([]*Release, len(tags))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(jobs)
	for i, tag := range tags {
		g.Go(func() error {
			about, err := payload.Metadata(ctx, src, repository+":"+tag, "")
			switch {
			case err == nil && !about.Shard:
				found[i] = &Release{Release: *about, Tag: tag, Ref: repository + "@" + about.Digest.String()}
			case err == nil, errors.Is(err, payload.ErrNoRelease):
			case errors.Is(err, fs.ErrNotExist):
				found[i] = &Release{Tag: tag, Err: err}
			default:
				return err
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var all []Release
	seen := map[digest.Digest]bool{}
	for _, r := range found {
		if r == nil || r.Err == nil && seen[r.Digest] {
			continue
		}
		seen[r.Digest] = true
		all = append(all, *r)
	}
	return all, nil
}
