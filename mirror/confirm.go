package mirror

import (
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// together is how many images of a repository are asked for at once, at most,
// after they were put: so that one who looks on sees them arrive, and one list
// of tags stands for many questions.
const together = 200

// A shelf is the images of one repository that are put in this run.
type shelf struct {
	mu   sync.Mutex
	left int      // images whose turn is to come
	put  []*image // images that were put and not asked for since
}

// expect counts an image that is to be put. A catalog or a release is asked for by
// itself: it waits for others that may stand on the same shelf.
func (r *run) expect(img *image) {
	if r.registry == nil || img.present || img.waits() {
		return
	}
	s := r.shelves[img.repository]
	if s == nil {
		s = &shelf{}
		r.shelves[img.repository] = s
	}
	s.left++
}

// shelve ends the way of an image that was put, or failed with err. A registry
// may have said 201 and not have what it took; so images count as copied when
// they were asked for afterwards. The error returned ends the run.
func (r *run) shelve(ctx context.Context, img *image, err error) error {
	due := []*image{img}
	if !img.waits() {
		s := r.shelves[img.repository]
		s.mu.Lock()
		s.left--
		if err == nil {
			s.put = append(s.put, img)
		}
		due = nil
		if s.left == 0 || len(s.put) >= together {
			due, s.put = s.put, nil
		}
		s.mu.Unlock()
	}
	if err != nil {
		r.settle(img, err)
		due = slices.DeleteFunc(due, func(other *image) bool { return other == img })
	}
	return r.confirm(ctx, due)
}

// confirm settles images of one repository that were put, when they are there.
func (r *run) confirm(ctx context.Context, images []*image) error {
	if len(images) == 0 {
		return nil
	}
	there := r.names(ctx, images)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(r.Streams)
	for _, img := range images {
		g.Go(func() error {
			err := r.insist(ctx, img, there)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if r.fatal(err) {
				return err
			}
			r.settle(img, err)
			return nil
		})
	}
	return g.Wait()
}

// names asks for the tags of a repository, where that spares questions, and
// returns those that prove an image to be there: a tag that says its digest, or
// any in a repository that had none before the run.
func (r *run) names(ctx context.Context, images []*image) map[string]bool {
	repository := images[0].repository
	_, used := r.used.Load(repository)
	wanted := map[string]bool{}
	for _, img := range images {
		for _, tag := range img.Tags {
			if !used || saysDigest(tag, img.Digest) {
				wanted[tag] = true
			}
		}
	}
	if len(wanted) < 2 || r.unlisted.Load() {
		return nil
	}
	found, err := r.registry.Tags(ctx, repository, listed*len(wanted))
	if err != nil {
		r.unlists(repository, err)
		return nil
	}
	there := map[string]bool{}
	for _, tag := range found {
		if wanted[tag] {
			there[tag] = true
		}
	}
	return there
}

// errVanished is why an image failed that a registry took and does not have.
var errVanished = errors.New("the registry took the image twice and does not have it: look into its storage and its log")

// insist puts an image once more that was put and is not there.
func (r *run) insist(ctx context.Context, img *image, there map[string]bool) error {
	ok, err := r.stands(ctx, img, there)
	if ok || err != nil {
		return err
	}
	r.Log.Warn("the registry took an image that is not there; it is put again", "ref", img.Source, "repository", img.repository)
	img.stays = false
	for i, m := range img.manifests {
		r.pushed.Delete(keyOf(img, m, img.tagsOf(i)))
	}
	if err := r.putAll(ctx, img); err != nil {
		return err
	}
	if ok, err = r.stands(ctx, img, nil); ok || err != nil {
		return err
	}
	return errVanished
}

// stands asks for an image under its tags, without those that are known to be
// there.
func (r *run) stands(ctx context.Context, img *image, there map[string]bool) (bool, error) {
	root := img.manifests[len(img.manifests)-1]
	tags := img.Tags
	if len(tags) == 0 {
		tags = []string{""}
	}
	for _, tag := range tags {
		if there[tag] {
			continue
		}
		ok, err := r.registry.HasManifest(ctx, img.repository, tag, manifestDescriptor(root))
		if err != nil {
			return false, explain(err, "looking whether the image has arrived")
		}
		if !ok {
			return false, nil
		}
	}
	return true, nil
}
