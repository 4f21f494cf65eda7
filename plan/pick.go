package plan

import "slices"

// Pick is the plan of some images of p and nothing else, which may have fewer tags
// than they have there. It has no catalogs: a catalog's image is an image like
// any other, which waits for none that it names.
func (p *Plan) Pick(images []Image) (*Plan, error) {
	q := *p
	q.Catalogs, q.Missing, q.Blocked, q.Notes = nil, nil, nil, nil
	q.Images = slices.Clone(images)
	for i := range q.Images {
		if img := &q.Images[i]; img.Kind == CatalogImage {
			img.Kind, img.Catalog = AdditionalImage, ""
		}
	}
	slices.SortFunc(q.Images, compareImages)
	return &q, q.gather(p.Manifests, p.Blobs)
}
