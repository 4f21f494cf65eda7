package plan

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// OnlyImages returns the plan of some images of p, which may have fewer tags than in p. It has no
// catalogs and no releases: their images are ordinary images, which do not wait for the images that
// they name.
func (p *Plan) OnlyImages(images []Image) (*Plan, error) {
	q := *p
	q.Catalogs, q.Missing, q.Blocked, q.Notes = nil, nil, nil, nil
	q.Releases, q.Updates, q.UpdateGraphs, q.GraphData, q.TagRules, q.Charts, q.Files = nil, nil, nil, nil, nil, nil, nil
	q.Images = slices.Clone(images)
	for i := range q.Images {
		switch img := &q.Images[i]; img.Kind {
		case CatalogImage, ReleaseImage, GraphImage:
			img.Kind, img.Catalog = AdditionalImage, ""
		}
	}
	elements.Sort(q.Images, CompareImages)
	return &q, q.gather(p.Manifests, p.Blobs)
}
