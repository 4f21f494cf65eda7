package build

import (
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/plan"
)

// A rewrittenSet is the original indexes of images with smaller ones, by the sources of the images.
type rewrittenSet map[string]*sourceSubject

// addRewritten adds the original indexes to those whose attachments are looked for: these do not cover
// the smaller indexes and are not mirrored, but the plan names them.
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
		s := r.subjects[img.RewrittenFrom]
		if s == nil {
			s = r.subject(img.RewrittenFrom)
			s.wants = allTags
		}
		all[img.Source] = s
	}
	return all
}

// notes returns which signatures and other referrers the smaller indexes lose.
func (all rewrittenSet) notes() (notes []string) {
	for source, s := range all {
		var lost []string
		for _, a := range s.found {
			if a.err == nil && a.digest != "" {
				lost = append(lost, a.source)
			}
		}
		slices.Sort(lost)
		if n := len(lost); n > 0 {
			notes = append(notes, fmt.Sprintf("%s has a smaller index: %s only the original %s; left out: %s",
				source, count(n, "signature or other referrer covers", "signatures and other referrers cover"), s.digest, shortList(lost)))
		}
	}
	return notes
}
