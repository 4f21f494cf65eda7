package mirror

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// compare finds the images that a registry already has, with one request for an image and one for
// each child. The manifest of an image is proof of its blobs, because registries refuse manifests
// without them. An index is no proof of its children, so these are requested one by one. If a
// repository has no tag yet, one list of its tags shows that, and no others follow; a list of all
// repositories shows it for many (see findAbsent). KnownTags saves more requests: see [Options].
func (r *run) compare(ctx context.Context) error {
	if r.registry == nil {
		return r.compareStore(ctx)
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var repositories, images errgroup.Group
	repositories.SetLimit(2 * r.Streams)
	images.SetLimit(2 * r.Streams)
	fails := func(err error) {
		if err != nil {
			end(err)
		}
	}
	for start := 0; start < len(r.images); {
		n := start + 1
		for n < len(r.images) && r.images[n].repository == r.images[start].repository {
			n++
		}
		group, first := r.images[start:n], start
		start = n
		repositories.Go(func() error {
			v, rest, err := r.compareRepository(ctx, group, first)
			fails(err)
			for i, img := range rest {
				check := func() error {
					fails(v.compareImage(ctx, img))
					return nil
				}
				if i == len(rest)-1 {
					return check() // most repositories have one image
				}
				images.Go(check)
			}
			return nil
		})
	}
	_, _ = repositories.Wait(), images.Wait() // what went wrong ended ctx
	return context.Cause(ctx)
}

// A repositoryCheck is the comparison of one repository.
type repositoryCheck struct {
	*run
	list *tagList
	// untagged means that images may exist there without their tags.
	untagged atomic.Bool
}

// compareRepository starts with a repository; its first image is the first-th of all. It returns
// the images that are still to be compared, in any order. As long as the repository may be empty,
// it compares one image after the other.
func (r *run) compareRepository(ctx context.Context, group []*image, first int) (v *repositoryCheck, rest []*image, err error) {
	repository, looked := group[0].repository, 0
	v = &repositoryCheck{run: r}
	defer func() { r.Meter.addCompared(len(group) - looked - len(rest)) }()
	v.list, err = r.listTags(ctx, group, first)
	v.untagged.Store(r.KnownTags.known(repository))
	switch {
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	case err != nil:
		r.noteNoTagList(repository, err)
	case v.isEmpty():
		return nil, nil, nil
	}
	listed := false // a first tag was requested
	if v.list == nil && !v.untagged.Load() {
		var empty bool
		if listed, empty, err = r.listIfLikelyEmpty(ctx, repository); empty || err != nil {
			return nil, nil, err
		}
	}
	for looked < len(group) && (v.list == nil && looked == 0 && !listed || v.list != nil && v.list.empty) {
		img := group[looked]
		looked++
		if err := v.compareImage(ctx, img); err != nil {
			return nil, nil, err
		}
		if v.isEmpty() {
			return nil, nil, nil
		}
		if _, used := r.nonEmpty.Load(repository); used || img.present || v.list != nil || v.untagged.Load() {
			continue
		}
		if empty, err := r.hasNoTags(ctx, repository); empty || err != nil {
			return nil, nil, err
		}
	}
	r.nonEmpty.Store(repository, struct{}{})
	return v, group[looked:], nil
}

// listIfLikelyEmpty reports whether a repository is empty, if that is likely. listed is false if it
// was not requested, or has no list of tags: then only an image shows whether there is one.
func (r *run) listIfLikelyEmpty(ctx context.Context, repository string) (listed, empty bool, err error) {
	if r.strict {
		return false, false, nil // as a rule, everything is present
	}
	predicted, decided := r.forecast.predict(ctx, repository)
	defer decided()
	if predicted.absent {
		return true, true, nil
	}
	if !predicted.empty || r.noTagLists.Load() {
		return false, false, nil
	}
	empty, err = r.hasNoTags(ctx, repository)
	if err != nil && ctx.Err() == nil && !r.Fatal(err) {
		r.noteNoTagList(repository, err)
		return false, false, nil
	}
	if predicted.first && empty {
		r.findAbsent(ctx, repository)
	}
	return true, empty, err
}

// isEmpty reports whether the repository has no tag, and no images without one.
func (v *repositoryCheck) isEmpty() bool { return v.list != nil && v.list.empty && !v.untagged.Load() }
