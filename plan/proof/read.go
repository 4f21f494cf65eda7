package proof

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/platform/payload"
)

// A Release is a release image of the mirror.
type Release struct {
	payload.Release
	// Tag is the tag by which the image was found, Ref its repository and digest.
	Tag, Ref string
	// Err is why the image that Tag names cannot be read. All fields but Tag are empty then.
	Err error
}

// Read reads the metadata of release images, as update services do, from the tags of a repository,
// jobs at a time. Like an update service, it skips signatures, images that are not releases, and
// the images of single architectures of a release for several. An image that is incomplete is
// returned as a Release with an Err. Other failures are returned as an error.
func Read(ctx context.Context, src image.Reader, repository string, tags []string, jobs int) ([]Release, error) {
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
