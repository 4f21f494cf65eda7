package mirror

import (
	"context"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// maxBatch is how many images of a repository are confirmed at once, at most, after they were
// pushed. Batches let an observer see progress, and one list of tags replaces many requests.
const maxBatch = 200

// A pushBatch is the images of one repository that are pushed in this run.
type pushBatch struct {
	mu          sync.Mutex
	remaining   int      // images that are still to be pushed
	unconfirmed []*image // images that were pushed and are not confirmed
}

// countForBatch counts an image that will be pushed. Catalogs and releases are confirmed on their
// own, because they wait for others that may be in the same batch.
func (r *run) countForBatch(img *image) {
	if r.registry == nil || img.present || img.publishedLast() {
		return
	}
	s := r.batches[img.repository]
	if s == nil {
		s = &pushBatch{}
		r.batches[img.repository] = s
	}
	s.remaining++
}

// confirmLater adds an image that was pushed to its batch, or finishes it with err. A registry may
// have responded 201 and not have stored the image; so images count as copied only when they were
// requested afterwards. An error that it returns ends the run.
func (r *run) confirmLater(ctx context.Context, img *image, err error) error {
	due := []*image{img}
	if !img.publishedLast() {
		s := r.batches[img.repository]
		s.mu.Lock()
		s.remaining--
		if err == nil {
			s.unconfirmed = append(s.unconfirmed, img)
		}
		due = nil
		if s.remaining == 0 || len(s.unconfirmed) >= maxBatch {
			due, s.unconfirmed = s.unconfirmed, nil
		}
		s.mu.Unlock()
	}
	if err != nil {
		r.finish(img, err)
		due = slices.DeleteFunc(due, func(other *image) bool { return other == img })
	}
	return r.confirm(ctx, due)
}

// confirm checks that pushed images of one repository are present, and finishes them.
func (r *run) confirm(ctx context.Context, images []*image) error {
	if len(images) == 0 {
		return nil
	}
	present := r.provingTags(ctx, images)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(r.Streams)
	for _, img := range images {
		g.Go(func() error {
			err := r.confirmImage(ctx, img, present)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if r.fatal(err) {
				return err
			}
			r.finish(img, err)
			return nil
		})
	}
	return g.Wait()
}

// provingTags lists the tags of a repository if that saves requests, and returns those that prove
// that an image is present: a tag that is made of its digest, or any tag in a repository that had
// none before the run. A repository with a tag that this run does not push had some.
func (r *run) provingTags(ctx context.Context, images []*image) map[string]bool {
	repository := images[0].repository
	_, used := r.nonEmpty.Load(repository)
	wanted := map[string]bool{} // whether the tag is made of the digest
	for _, img := range images {
		for _, tag := range img.Tags {
			if stable := tag == plan.DigestTag(img.Digest); stable || !used {
				wanted[tag] = stable
			}
		}
	}
	if len(wanted) < 2 || r.noTagLists.Load() {
		return nil
	}
	found, err := r.registry.Tags(ctx, repository, minTagPage*len(wanted))
	if err != nil {
		r.noteNoTagList(repository, err)
		return nil
	}
	if !used && r.hasOtherTag(repository, found) {
		used = true
		r.nonEmpty.Store(repository, struct{}{})
	}
	present := map[string]bool{}
	for _, tag := range found {
		if stable, ok := wanted[tag]; ok && (stable || !used) {
			present[tag] = true
		}
	}
	return present
}

// hasOtherTag reports whether one of the tags found in a repository is not of the plan.
func (r *run) hasOtherTag(repository string, found []string) bool {
	first, _ := slices.BinarySearchFunc(r.images, repository, func(img *image, repository string) int { return strings.Compare(img.repository, repository) })
	planned := map[string]bool{}
	for _, img := range r.images[first:] {
		if img.repository != repository {
			break
		}
		for _, tag := range img.Tags {
			planned[tag] = true
		}
		if img.isReferrer() {
			planned[plan.ReferrersTag(img.Subject)] = true // the registry may list it there
		}
	}
	return slices.ContainsFunc(found, func(tag string) bool { return !planned[tag] })
}

// errNotStored is the error of an image that a registry accepted and does not have.
var errNotStored = advice.New(advice.Failure, "check its storage and its log", "the registry accepted the image twice and does not have it")

// confirmImage pushes an image once more if it was pushed and is not present.
func (r *run) confirmImage(ctx context.Context, img *image, present map[string]bool) error {
	ok, err := r.hasImage(ctx, img, present)
	if err != nil {
		return err
	}
	if ok {
		return r.confirmManifests(ctx, img)
	}
	r.Log.Warn("the registry accepted an image and does not have it; pushing it again", "ref", img.Source, "repository", img.repository)
	img.onlyTagMissing, img.untagged = false, false
	for i, m := range img.manifests {
		r.pushed.Delete(pushKeyOf(img, m, img.tagsOf(i)))
	}
	if err := r.putManifests(ctx, img); err != nil {
		return err
	}
	if ok, err = r.hasImage(ctx, img, nil); ok || err != nil {
		return err
	}
	return errNotStored
}

// hasImage requests an image under its tags, except for those in present.
func (r *run) hasImage(ctx context.Context, img *image, present map[string]bool) (bool, error) {
	root := img.manifests[len(img.manifests)-1]
	tags := img.Tags
	if len(tags) == 0 {
		tags = []string{""}
	}
	for _, tag := range tags {
		if present[tag] {
			continue
		}
		ok, err := r.registry.HasManifest(ctx, img.repository, tag, manifestDescriptor(root))
		if err != nil {
			return false, explain(err, "confirming the image")
		}
		if !ok {
			return false, nil
		}
	}
	return true, nil
}
