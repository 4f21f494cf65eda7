package build

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// rereadDays is how many days the digests in earlier plans are used at most before all tags of an
// image's signatures are requested again. The day differs from image to image.
const rereadDays = 7

// earlierTags is what an earlier plan says about images and what belongs to them.
type earlierTags struct {
	images map[digest.Digest]bool
	// tags has the digests of sources that are tags, "" if the plan has none because they are blocked.
	tags    map[string]digest.Digest
	written time.Time
}

func newEarlierTags(p *plan.Plan, written time.Time) *earlierTags {
	e := &earlierTags{images: map[digest.Digest]bool{}, tags: map[string]digest.Digest{}, written: written}
	for _, b := range p.Blocked {
		e.tags[b.Source] = ""
	}
	for i := range p.Images {
		img := &p.Images[i]
		original := img.Digest
		if img.RewrittenFrom != "" {
			e.images[img.RewrittenFrom] = true
			original = img.RewrittenFrom
		}
		e.images[img.Digest] = true
		if !strings.Contains(img.Source, "@") {
			e.tags[img.Source] = original
		}
	}
	return e
}

// due reports whether rereadDays have passed for an image since the plan was written.
func (e *earlierTags) due(root digest.Digest, now time.Time) bool {
	offset := rand.New(rand.NewPCG(seedOf(root), 0)).Int64N(rereadDays)
	period := func(t time.Time) int64 { return (t.Unix()/(24*60*60) + offset) / rereadDays }
	return period(now) != period(e.written)
}

// seedOf returns a number that depends on a digest alone.
func seedOf(d digest.Digest) (seed uint64) {
	for _, c := range []byte(d) {
		seed = seed*131 + uint64(c)
	}
	return seed
}

// A taggedImage is an image with the tags of cosign that belong to it, its platforms and these.
type taggedImage struct {
	repository *sourceRepository
	root       digest.Digest
	tags       map[string]digest.Digest // by source; those of the earlier plan
	// same means that it had the same tags in the earlier plan, and is not due.
	same bool
	// read is the source that was requested again, if any, and now what it is.
	read string
	now  digest.Digest
}

// reuse takes the digests of cosign's tags from the earlier plan for images that have the same tags as
// there. One tag of each image is requested; if it moved, all are.
func (f *attachmentFinder) reuse(ctx context.Context) error {
	images := f.taggedImages()
	if f.opts.Earlier == nil || !slices.ContainsFunc(images, func(t *taggedImage) bool { return f.hasSeveral(t) }) {
		return nil
	}
	p, written := f.opts.Earlier()
	if p == nil {
		return nil
	}
	earlier := newEarlierTags(p, written)
	requested := map[string]bool{} // images may share platforms
	for _, t := range images {
		f.compare(t, earlier)
		if t.same {
			t.read = f.oneOf(t)
		}
		if t.read != "" {
			requested[t.read] = true
		}
	}
	now, err := f.request(ctx, slices.Sorted(maps.Keys(requested)))
	for _, t := range images {
		if t.read != "" {
			t.now = now[t.read]
			t.same = t.now == t.tags[t.read]
		}
	}
	for _, t := range images {
		if t.same {
			maps.Copy(f.known, t.tags)
		}
	}
	for _, t := range images { // they may share platforms
		if !t.same {
			maps.DeleteFunc(f.known, func(source string, _ digest.Digest) bool { _, ok := t.tags[source]; return ok })
		}
	}
	for _, t := range images {
		if t.now != "" {
			f.known[t.read] = t.now
		}
	}
	return err
}

// taggedImages returns the images in registries whose tags were listed.
func (f *attachmentFinder) taggedImages() (all []*taggedImage) {
	for _, r := range f.repositories {
		if r.err != nil || r.tags == nil || strings.HasPrefix(r.source, ociScheme) {
			continue
		}
		for _, root := range slices.Compact(slices.Sorted(slices.Values(r.roots))) {
			all = append(all, &taggedImage{repository: r, root: root, tags: map[string]digest.Digest{}})
		}
	}
	return all
}

// hasSeveral reports whether several tags may belong to an image: two, or an attestation or bill of
// materials, which may be signed. The earlier plan saves no request for others.
func (f *attachmentFinder) hasSeveral(t *taggedImage) bool {
	n := 0
	for _, d := range f.graph.reachable(t.root) {
		kinds, _ := t.repository.tags.find(d)
		for _, tag := range attachmentTags {
			switch {
			case kinds&tag.bit == 0 || tag.bit == referrersTag:
			case tag.bit != signatureTag:
				return true
			default:
				n++
			}
		}
	}
	return n > 1
}

// compare sets the tags of an image, and whether they are those of the earlier plan.
func (f *attachmentFinder) compare(t *taggedImage, earlier *earlierTags) {
	t.same = earlier.images[t.root] && !earlier.due(t.root, f.opts.Now)
	subjects, seen := f.graph.reachable(t.root), map[digest.Digest]bool{}
	for len(subjects) > 0 {
		d := subjects[0]
		subjects = subjects[1:]
		if seen[d] {
			continue
		}
		seen[d] = true
		kinds, listed := t.repository.tags.find(d)
		t.same = t.same && listed
		for _, tag := range attachmentTags {
			if tag.bit == referrersTag {
				continue
			}
			source := t.repository.named(":" + tagPrefix + d.Encoded() + tag.ending)
			had, known := earlier.tags[source]
			if has := kinds&tag.bit != 0; has != known && (has || had != "") {
				t.same = false
			}
			if had != "" {
				t.tags[source] = had
				subjects = append(subjects, had)
			}
		}
	}
}

// request returns the digests of tags at the source, without those that can't be read: the error is met again, and
// reported, when all tags of the image are requested.
func (f *attachmentFinder) request(ctx context.Context, sources []string) (map[string]digest.Digest, error) {
	found := make([]digest.Digest, len(sources))
	err := eachOf(ctx, len(sources), f.opts.Jobs, func(ctx context.Context, i int) error {
		if desc, _, err := f.sources.uncached.Manifest(ctx, sources[i], ""); err == nil {
			found[i] = desc.Digest
		}
		return ctx.Err()
	})
	now := map[string]digest.Digest{}
	for i, source := range sources {
		now[source] = found[i]
	}
	return now, err
}

// oneOf returns the tag of an image to request: its own signature, or else one at random.
func (f *attachmentFinder) oneOf(t *taggedImage) string {
	if own := t.repository.named(":" + tagPrefix + t.root.Encoded() + ".sig"); t.tags[own] != "" {
		return own
	}
	all := slices.Sorted(maps.Keys(t.tags))
	if len(all) == 0 {
		return ""
	}
	turns := rand.New(rand.NewPCG(uint64(f.opts.Now.UnixNano()), seedOf(t.root)))
	return all[turns.IntN(len(all))]
}

// manifest reads the manifest of an attachment, by the digest of its tag if that is known. If the
// source no longer has that one, its tag has moved.
func (f *attachmentFinder) manifest(ctx context.Context, a *attachment) (desc ocispec.Descriptor, raw []byte, err error) {
	images := f.sources.uncached
	if known := f.known[a.source]; known != "" && a.digest == "" {
		if desc, raw, err = images.Manifest(ctx, a.source, known); err == nil || ctx.Err() != nil {
			return desc, raw, err
		}
	}
	return images.Manifest(ctx, a.source, a.digest)
}
