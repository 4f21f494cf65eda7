package build

import (
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A rewrittenSet is the originals of images with smaller indexes, and of converted images, by the sources of the
// images. The first is the root.
type rewrittenSet map[string][]*sourceSubject

// addRewritten adds the original indexes, and the originals of converted images, to the manifests whose
// attachments are looked for: these do not cover what is mirrored and are left out, but the plan names them.
func (f *attachmentFinder) addRewritten(images []plan.Image) rewrittenSet {
	all := rewrittenSet{}
	for i := range images {
		img := &images[i]
		if img.RewrittenFrom == "" {
			continue
		}
		r := f.subjectsOf(img)
		if r == nil {
			continue
		}
		originals := []digest.Digest{img.RewrittenFrom}
		if f.opts.Format != "" {
			originals = f.graph.reachable(img.RewrittenFrom)
		}
		mirrored := f.graph.reachable(img.Digest)
		all[img.Source] = nil
		for _, d := range originals {
			if slices.Contains(mirrored, d) {
				continue
			}
			s, added := r.subject(d)
			if added {
				s.wants = allTags
			}
			all[img.Source] = append(all[img.Source], s)
		}
	}
	return all
}

// notes returns which signatures and other referrers the smaller indexes, or the images of a plan with a format, lose.
func (all rewrittenSet) notes(format manifest.Format) (notes []string) {
	what := "has a smaller index"
	if format != "" {
		what = "was converted"
	}
	for source, originals := range all {
		var lost []string
		for _, s := range originals {
			for _, a := range s.found {
				if a.err == nil && a.digest != "" {
					lost = append(lost, a.source)
				}
			}
		}
		slices.Sort(lost)
		if n := len(lost); n > 0 {
			notes = append(notes, fmt.Sprintf("%s %s: %s only the original %s; left out: %s",
				source, what, count(n, "signature or other referrer covers", "signatures and other referrers cover"), originals[0].digest, shortList(lost)))
		}
	}
	return notes
}

// subjectsOf returns the repository in which an image may have signatures, or nil: built images have none.
func (f *attachmentFinder) subjectsOf(img *plan.Image) *sourceRepository {
	if img.Kind == plan.GraphImage || f.sources.Attachments == nil && !isReleaseImage(img.Kind) {
		return nil
	}
	return f.repositoryOf(img.Source)
}
