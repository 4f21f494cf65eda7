package admission

import (
	"maps"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// maxReplacedTags is how many tags of other image sets are listed in warnings.
const maxReplacedTags = 10

// warnReplacedTags warns once about images whose tags have other content for another image set of the mirror.
func warnReplacedTags(s *workspace.Session, t *site.RegistryDestination, p *plan.Plan, others map[string]state.Record) {
	if t.WarnedTags == nil {
		t.WarnedTags = map[string]bool{}
	}
	more := 0
	for _, name := range slices.Sorted(maps.Keys(others)) {
		for _, tag := range replacedTags(t, p, others[name]) {
			key := name + " " + tag
			if t.WarnedTags[key] {
				continue
			}
			if t.WarnedTags[key] = true; len(t.WarnedTags) > maxReplacedTags {
				more++
				continue
			}
			s.Env.Warnf("%s replaces the image that the image set %q has under this tag, which its next run puts back; set another targetTag or targetRepo in one of the two configurations", tag, name)
		}
	}
	if more > 0 {
		s.Env.Warnf("%s of other image sets too", env.Number(more, "more tag", "more tags"))
	}
}

// replacedTags returns the tags of a plan in the mirror under which a record has only other content.
func replacedTags(t *site.RegistryDestination, p *plan.Plan, other state.Record) (tags []string) {
	have := map[string][]digest.Digest{}
	for i := range other.Images {
		img := &other.Images[i]
		at := site.InMirror(img.Mirror, img.Source)
		tag := at.Name() + ":" + at.Tag
		have[tag] = append(have[tag], at.Digest)
	}
	for i := range p.Images {
		img := &p.Images[i]
		switch img.Kind {
		case plan.AdditionalImage, plan.RelatedImage:
		default: // others are compared elsewhere, or are tagged by their digest
			continue
		}
		for _, tag := range img.Tags {
			at := t.Names[img.Repository].Name() + ":" + tag
			if before := have[at]; len(before) > 0 && !slices.Contains(before, img.Digest) {
				tags = append(tags, at)
			}
		}
	}
	return tags
}
