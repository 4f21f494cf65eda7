package mirror

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/plan"
)

// look finds the images that a registry has already, with one request an image
// and one a child. The manifest of an image proves its blobs, which a registry
// does not take it without; an index proves nothing of its children, so they
// are asked for one by one. A repository that has no tag yet is found out by its
// first image and asked nothing more. A receipt spares more: see [Options].
func (r *run) look(ctx context.Context) error {
	if r.registry == nil {
		return r.lookInside(ctx)
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
			v, rest, err := r.enter(ctx, group, first)
			for _, img := range rest {
				images.Go(func() error {
					fails(v.ask(ctx, img))
					return nil
				})
			}
			fails(err)
			return nil
		})
	}
	_, _ = repositories.Wait(), images.Wait() // what went wrong ended ctx
	return context.Cause(ctx)
}

// A lister is a Holder in which an image is found by its name alone: it tells
// the root manifests of the names that it has.
type lister interface {
	Listed() (map[string]digest.Digest, error)
}

// A checker is a Holder that reads content which it has, to compare it with its
// digest. From then on it does not have what it found a problem with.
type checker interface {
	Check(ctx context.Context, desc ocispec.Descriptor) (problem, err error)
}

// lookInside finds the images that a sink which knows by itself has whole.
func (r *run) lookInside(ctx context.Context) error {
	if r.holder == nil {
		return nil
	}
	if c, ok := r.sink.(checker); ok && r.CheckBlobs {
		if err := r.check(ctx, c); err != nil {
			return err
		}
	}
	var listed map[string]digest.Digest
	l, lists := r.sink.(lister)
	if lists {
		var err error
		if listed, err = l.Listed(); err != nil {
			r.Log.Warn("what is listed at the destination cannot be read, and is written anew", "error", err)
		}
	}
	for _, img := range r.images {
		if lists && slices.ContainsFunc(img.Tags, func(tag string) bool { return listed[img.Repository+":"+tag] != img.Digest }) {
			continue
		}
		img.present = !slices.ContainsFunc(img.manifests, func(m *plan.Manifest) bool {
			return !r.holder.Has(manifestDescriptor(m))
		}) && !slices.ContainsFunc(img.blobs, func(b *blob) bool { return !r.holder.Has(b.descriptor()) })
	}
	return nil
}

// check has all content of the plan read that the sink has.
func (r *run) check(ctx context.Context, c checker) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(r.Streams)
	one := func(desc ocispec.Descriptor) {
		g.Go(func() error {
			if ctx.Err() != nil || !r.holder.Has(desc) {
				return context.Cause(ctx)
			}
			problem, err := c.Check(ctx, desc)
			if problem != nil {
				r.Log.Warn("damaged content at the destination is brought again", "digest", desc.Digest, "error", problem)
			}
			return err
		})
	}
	manifests, blobs := map[*plan.Manifest]bool{}, map[*blob]bool{}
	for _, img := range r.images {
		for _, m := range img.manifests {
			if !manifests[m] {
				manifests[m] = true
				one(manifestDescriptor(m))
			}
		}
		for _, b := range img.blobs {
			if !blobs[b] {
				blobs[b] = true
				one(b.descriptor())
			}
		}
		r.Meter.look(1)
	}
	return g.Wait()
}

// A visit is the look into one repository.
type visit struct {
	*run
	told *told
	// untagged says that images may stand there without their tags.
	untagged atomic.Bool
}

// enter begins with a repository, of whose images the first is the first-th of
// all, and returns those that are left to be asked for, in any order. While the
// repository may turn out to be empty, it asks for one image after the other.
func (r *run) enter(ctx context.Context, group []*image, first int) (v *visit, rest []*image, err error) {
	repository, looked := group[0].repository, 0
	v = &visit{run: r}
	defer func() { r.Meter.look(len(group) - looked - len(rest)) }()
	v.told, err = r.list(ctx, group, first)
	v.untagged.Store(r.Receipt.left(repository))
	switch {
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	case err != nil:
		r.unlists(repository, err)
	case v.gone():
		return nil, nil, nil
	}
	for looked < len(group) && (v.told == nil && looked == 0 || v.told != nil && v.told.none) {
		img := group[looked]
		looked++
		if err := v.ask(ctx, img); err != nil {
			return nil, nil, err
		}
		if v.gone() {
			return nil, nil, nil
		}
		if _, used := r.used.Load(repository); used || img.present || v.told != nil || v.untagged.Load() {
			continue
		}
		tags, err := r.registry.Tags(ctx, repository, 1)
		if err != nil {
			err = fmt.Errorf("looking into %s: %w", repository, err)
			if r.strict || !denies(err) {
				return nil, nil, err
			}
			continue // it keeps its list to itself: the images are asked for one by one
		}
		if len(tags) == 0 {
			return nil, nil, nil
		}
	}
	r.used.Store(repository, struct{}{})
	return v, group[looked:], nil
}

// unlists notes that the registry gave no list of tags: of one repository where that
// is denied, else of none.
func (r *run) unlists(repository string, err error) {
	r.Log.Debug("the registry lists no tags; images are asked for one by one", "repository", repository, "error", err)
	if !denies(err) {
		r.unlisted.Store(true)
	}
}

// gone reports whether the repository has no tag, and nothing without one.
func (v *visit) gone() bool { return v.told != nil && v.told.none && !v.untagged.Load() }

// ask finds out whether an image is there, or all of it but its tag.
func (v *visit) ask(ctx context.Context, img *image) error {
	present, children, err := v.isPresent(ctx, img)
	v.Meter.look(1)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		err = fmt.Errorf("looking for %s at the destination: %w", img.name(), err)
		if v.strict || v.Fatal(err) {
			return err
		}
		// One repository's trouble is its own: the push will tell.
		v.Log.Warn("taken as absent", "ref", img.Source, "error", err)
		v.used.Store(img.repository, struct{}{})
		return nil
	}
	img.present = present
	if present || v.CheckBlobs || !v.untagged.Load() || !v.Receipt.left(img.repository, img.Image) {
		return nil
	}
	if img.stays, err = v.stays(ctx, img, children); err == nil && !img.stays {
		v.untagged.Store(false)
	}
	return err
}

// name is what the image is called at the destination, without the host: its
// source may be a folder, of which the destination knows nothing.
func (img *image) name() string {
	if len(img.Tags) == 0 {
		return img.Repository + "@" + img.Digest.String()
	}
	return img.Repository + ":" + img.Tags[0]
}

// told is what a list of tags says of the images of a repository.
type told struct {
	// none says that the repository has no tag.
	none bool
	// tags are those of images that need not be asked for, and whether the
	// repository has them.
	tags map[string]bool
}

const (
	// every is one in how many images is asked for although a list has its tag.
	every = 8
	// listed is how many tags a registry gives at a time, at least.
	listed = 100
)

// list asks for the tags of a repository, where that spares more questions than
// it costs; else it returns nil.
func (r *run) list(ctx context.Context, group []*image, first int) (*told, error) {
	if r.Receipt == nil || r.strict || r.CheckBlobs || r.unlisted.Load() {
		return nil, nil
	}
	tags := map[string]bool{}
	n := 0
	for _, img := range group {
		if len(img.Tags) != 1 || !fixed(img.Tags[0], img.Digest) || !r.Receipt.has(img.repository, img.Tags[0], img.Digest) {
			continue
		}
		if (first+n+r.Receipt.turn)%every != 0 {
			tags[img.Tags[0]] = false
		}
		n++
	}
	if n < 2 {
		return nil, nil
	}
	// So many tags come with no more requests than the list spares, though the
	// mirror may have gathered others for years. What lies behind them is asked
	// for.
	limit := listed * len(tags)
	found, err := r.registry.Tags(ctx, group[0].repository, limit)
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
	return &told{none: len(found) == 0, tags: tags}, nil
}

// isPresent asks for the image, or believes what the list of tags said of it,
// and for its children, and reports whether those are there in any case. Where
// an earlier run left the image, all is asked for at the same time.
func (v *visit) isPresent(ctx context.Context, img *image) (present, children bool, err error) {
	last := len(img.manifests) - 1
	tags := img.Tags
	if len(tags) == 0 {
		tags = []string{""}
	}
	if v.told != nil {
		if found, known := v.told.tags[tags[0]]; known && !found {
			return false, false, nil
		} else if known {
			tags = nil
		}
	}
	questions := make([]question, 0, len(tags)+last)
	for _, tag := range tags {
		questions = append(questions, question{img.manifests[last], tag})
	}
	for _, m := range img.manifests[:last] {
		questions = append(questions, question{m, ""})
	}
	alone := 0 // how many are asked before the others
	if len(tags) > 0 && !v.Receipt.left(img.repository, img.Image) {
		alone = 1
	}
	var yes []bool
	for _, some := range [][]question{questions[:alone], questions[alone:]} {
		answers, err := v.has(ctx, img, some)
		if err != nil {
			return false, false, err
		}
		if yes = append(yes, answers...); slices.Contains(answers, false) {
			return false, len(yes) == len(questions) && !slices.Contains(yes[len(tags):], false), nil
		}
	}
	if v.CheckBlobs {
		lost, err := v.lost(ctx, img)
		return err == nil && len(lost) == 0, true, err
	}
	return true, true, nil
}

// A question is whether a manifest is there under a tag or, where that is "",
// under its digest.
type question struct {
	manifest *plan.Manifest
	tag      string
}

// has asks several questions of an image at the same time.
func (r *run) has(ctx context.Context, img *image, questions []question) (yes []bool, err error) {
	var g errgroup.Group
	g.SetLimit(r.Streams)
	yes = make([]bool, len(questions))
	for i, q := range questions {
		g.Go(func() (err error) {
			yes[i], err = r.registry.HasManifest(ctx, img.repository, q.tag, manifestDescriptor(q.manifest))
			return err
		})
	}
	return yes, g.Wait()
}

// stays asks for an image of the receipt by its digests, which needs no tag: for
// its root, and for its children unless they are known to be there. So somebody
// who removed a tag has it put back with one request.
func (r *run) stays(ctx context.Context, img *image, children bool) (bool, error) {
	manifests := img.manifests
	if children {
		manifests = manifests[len(manifests)-1:]
	}
	for _, m := range slices.Backward(manifests) {
		ok, err := r.registry.HasManifest(ctx, img.repository, "", manifestDescriptor(m))
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if err != nil && r.Fatal(err) {
			return false, fmt.Errorf("looking for %s at the destination: %w", img.name(), err)
		}
		if !ok || err != nil {
			return false, nil // the push will tell
		}
	}
	return true, nil
}
