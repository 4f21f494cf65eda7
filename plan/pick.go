package plan

import "slices"

// Pick is the plan of some images of p and nothing else, which may have fewer tags
// than they have there. It has no catalogs and no releases: their images are
// images like any other, which wait for none that they name.
func (p *Plan) Pick(images []Image) (*Plan, error) {
	q := *p
	q.Catalogs, q.Missing, q.Blocked, q.Notes = nil, nil, nil, nil
	q.Releases, q.Updates, q.UpdateGraphs, q.GraphData = nil, nil, nil, nil
	q.Images = slices.Clone(images)
	for i := range q.Images {
		switch img := &q.Images[i]; img.Kind {
		case CatalogImage, ReleaseImage, GraphImage:
			img.Kind, img.Catalog = AdditionalImage, ""
		}
	}
	slices.SortFunc(q.Images, compareImages)
	return &q, q.gather(p.Manifests, p.Blobs)
}
