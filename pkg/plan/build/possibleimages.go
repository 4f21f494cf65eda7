package build

import (
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// notesOnPossible returns notes on references that charts contain and that may be images which they use, each once,
// unless they are requested or blocked.
func (h *helmCharts) notesOnPossible(requested *requestSet, blocked []imageset.Blocked) (notes []string) {
	known := map[string]bool{}
	for key, w := range requested.byKey {
		known[key.source] = true
		known[pulled(w.ref()).String()] = true
	}
	for _, c := range h.images {
		for _, img := range c.possible {
			ref, err := reference.Parse(img.Name)
			if err != nil || known[ref.String()] || known[pulled(ref).String()] {
				continue
			}
			known[ref.String()] = true
			if _, ok := imageset.BlockedBy(blocked, ref.String(), ref.Path); ok {
				continue
			}
			line, with := ref.String(), ""
			if ref.Identifier() == "" {
				line, with = line+":TAG", ", with the tag that is used,"
			}
			notes = append(notes, fmt.Sprintf("chart %s: %s names %s, which may be an image that it uses; to mirror it, add \"- name: %s\"%s to additionalImages",
				c.chart, ownerName(img.Owner), ref, line, with))
		}
	}
	return notes
}
