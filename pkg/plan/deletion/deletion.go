// Package deletion finds what a DeleteImageSetConfiguration selects of plans.
//
// A [Selector] is made of the configuration; [Listed] does the same for a list of images. Both make a [Choice] of
// catalogs, bundles, releases and so on. [Choice.Of] returns which images of a plan are selected, and which stay although an entry of the configuration names them, since the plan has other reasons for them:
// a bundle that stays, another release, a list. Signatures and other referrers follow their subject.
//
// An entry selects what the plan has because of the same entry in an ImageSetConfiguration: a package
// without versions is all of its bundles in the plan, a channel without versions all releases that are from
// that channel. A bundle or release that other channels have, too, stays unless all are named.
package deletion

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// A Selector selects content of plans.
type Selector struct {
	delete *imageset.Mirror
	// entries are what the configuration names, in order, and whether a plan had it.
	entries []entry
}

type entry struct {
	text  string
	pos   imageset.Position
	found bool
}

// New returns a selector for a configuration, which is usable.
func New(d *imageset.Deletion) *Selector { return &Selector{delete: &d.Delete} }

// found records whether a plan has what an entry names.
func (s *Selector) found(text string, pos imageset.Position, found bool) {
	i := slices.IndexFunc(s.entries, func(e entry) bool { return e.text == text && e.pos == pos })
	if i < 0 {
		i = len(s.entries)
		s.entries = append(s.entries, entry{text: text, pos: pos})
	}
	s.entries[i].found = s.entries[i].found || found
}

// Unmatched returns what the configuration names and none of the plans had, each with its position, in the
// order of the file.
func (s *Selector) Unmatched() []string {
	entries := slices.Clone(s.entries)
	elements.Sort(entries, func(a, b entry) int { return cmp.Compare(a.pos.Line, b.pos.Line) })
	var all []string
	for _, e := range entries {
		if !e.found {
			all = append(all, fmt.Sprintf("%s: no image set of the mirror has %s", e.pos, e.text))
		}
	}
	return all
}

// Of returns what the configuration selects of a plan.
func (s *Selector) Of(p *plan.Plan) (*Selected, error) {
	c := newChoice()
	c.Releases, c.Charts, c.Images = s.releases(p), s.charts(p), s.images(p)
	if s.delete.Platform != nil && s.delete.Platform.Graph {
		c.Graph = true
		s.found("graph data", s.delete.Platform.Pos, p.GraphData != nil)
	}
	s.operators(p, c)
	return c.Of(p)
}

// images returns the sources of additional images that are selected.
func (s *Selector) images(p *plan.Plan) map[string]bool {
	sources := map[string]bool{}
	for i := range p.Images {
		if slices.ContainsFunc(p.Images[i].Reasons, func(r plan.Reason) bool { return r.List == "additionalImages" }) {
			sources[p.Images[i].Source] = true
		}
	}
	all := map[string]bool{}
	for _, img := range s.delete.AdditionalImages {
		found := false
		for source := range sources {
			if same(source, img.Name) {
				all[source], found = true, true
			}
		}
		s.found("the additional image "+img.Name, img.Pos, found)
	}
	return all
}

// same reports whether two texts name the same image.
func same(a, b string) bool {
	if a == b {
		return true
	}
	if strings.Contains(a, "://") || strings.Contains(b, "://") {
		return false
	}
	x, err := reference.Parse(a)
	if err != nil {
		return false
	}
	y, err := reference.Parse(b)
	return err == nil && x == y
}
