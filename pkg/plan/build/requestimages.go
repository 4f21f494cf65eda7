package build

import (
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// requestImages returns the images that the catalogs, the releases, the charts and additionalImages name,
// without those that blockedImages matches.
func requestImages(cfg imageset.Mirror, catalogs []*selectedCatalog, releases platformReleases, charts helmCharts, listed []listedImage) (imageRequests, error) {
	set := newRequestSet()
	for _, c := range catalogs {
		if err := c.addRequests(set); err != nil {
			return imageRequests{}, err
		}
	}
	notes, err := releases.addRequests(set)
	if err != nil {
		return imageRequests{}, err
	}
	notes = append(notes, charts.addRequests(set)...)
	if err := set.addImages(listed); err != nil {
		return imageRequests{}, err
	}
	notes = append(notes, charts.notesOnPossible(set, cfg.BlockedImages)...)
	r := imageRequests{blocked: set.removeBlocked(cfg.BlockedImages), all: set.sorted()}
	r.notes = slices.Concat(notes, notesOnBlockedParts(r.blocked))
	if set.empty > 0 {
		r.notes = append(r.notes, count(set.empty, "related image has", "related images have")+" an empty reference; skipped")
	}
	for ref := range set.unqualified {
		r.notes = append(r.notes, fmt.Sprintf("image %s has no registry; docker.io is used", ref))
	}
	return r, nil
}
