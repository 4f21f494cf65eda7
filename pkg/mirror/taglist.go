package mirror

import (
	"context"
	"fmt"
	"maps"
)

// A tagList is what a list of tags shows about the images of a repository.
type tagList struct {
	// empty means that the repository has no tag.
	empty bool
	// tags has the tags of images that need not be requested, and whether the repository has them.
	tags map[string]bool
}

const (
	// One in sampleEvery images is requested although the list has its tag.
	sampleEvery = 8
	// minTagPage is the number of tags that registries return per request, at least.
	minTagPage = 100
)

// listTags lists the tags of a repository if that saves more requests than it costs; otherwise, it
// returns nil.
func (r *run) listTags(ctx context.Context, group []*image, first int) (*tagList, error) {
	if r.KnownTags == nil || r.strict || r.CheckBlobs || r.noTagLists.Load() {
		return nil, nil
	}
	tags := map[string]bool{}
	n := 0
	for _, img := range group {
		if len(img.Tags) != 1 || !isStableTag(img.Tags[0], img.Digest) || !r.KnownTags.has(img.repository, img.Tags[0], img.Digest) {
			continue
		}
		if (first+n+r.KnownTags.turn)%sampleEvery != 0 {
			tags[img.Tags[0]] = false
		}
		n++
	}
	if n < 2 {
		return nil, nil
	}
	// So many tags cost no more requests than the list saves, even if others have accumulated in
	// the mirror for years. Images whose tags are behind the limit are requested.
	limit := minTagPage * len(tags)
	found, err := r.registry.Tags(ctx, group[0].repository, limit)
	r.count.queries.Add(int64(1 + len(found)/minTagPage))
	if err != nil {
		return nil, err
	}
	for _, tag := range found {
		if _, asked := tags[tag]; asked {
			tags[tag] = true
		}
	}
	if len(found) >= limit {
		maps.DeleteFunc(tags, func(_ string, found bool) bool { return !found })
	}
	return &tagList{empty: len(found) == 0, tags: tags}, nil
}

// noteNoTagList records that a repository does not list its tags. If that is not a refusal for this
// repository, no further list is requested.
func (r *run) noteNoTagList(repository string, err error) {
	r.Log.Debug("the registry does not list tags; requesting images one by one", "repository", repository, "error", err)
	if !denies(err) {
		r.noTagLists.Store(true)
	}
}

// hasNoTags reports whether a repository is empty. A repository that refuses to list its tags is
// assumed to have some: its images are requested one by one.
func (r *run) hasNoTags(ctx context.Context, repository string) (bool, error) {
	r.count.queries.Add(1)
	tags, err := r.registry.Tags(ctx, repository, 1)
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err != nil && !r.strict && denies(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("listing the tags of %s: %w", repository, err)
	}
	r.forecast.learn(len(tags) == 0)
	return len(tags) == 0, nil
}
