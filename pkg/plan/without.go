package plan

import (
	"slices"

	"github.com/opencontainers/go-digest"
)

// A FailedImage is an image of a plan that could not be copied to its repository, and the error.
type FailedImage struct {
	Source, Repository string
	Err                error
}

// Without returns the plan as if the failed images had been missing at the source: they are added
// to Missing. A catalog or release whose own image failed is removed, with the updates through it;
// the images that it names stay.
func (p *Plan) Without(lost []FailedImage) (*Plan, error) {
	type failedKey struct{ source, repository string }
	reasons := map[failedKey]error{}
	for _, l := range lost {
		reasons[failedKey{l.Source, l.Repository}] = l.Err
	}
	images, missing := []Image{}, slices.Clone(p.Missing)
	for _, img := range p.Images {
		if err, isLost := reasons[failedKey{img.Source, img.Repository}]; isLost {
			missing = append(missing, NewMissing(img.Source, img.Kind, err, img.Reasons))
		} else {
			images = append(images, img)
		}
	}
	q := p.having(images)
	q.Missing = missing
	q.unblock(func(b Blocker) bool { return !q.Has(Publishable{Catalog: b.Catalog}) })
	return q, q.gatherOwned(p.Manifests, p.Blobs)
}

// gatherOwned is gather without what belongs to images that are not in the plan.
func (p *Plan) gatherOwned(manifests []Manifest, blobs []Blob) error {
	contents, err := (&Plan{Manifests: manifests, Blobs: blobs}).Contents()
	if err == nil {
		p.Images, err = withoutOrphans(p.Images, contents, 0)
	}
	if err != nil {
		return err
	}
	return p.gather(manifests, blobs)
}

// gather sets the manifests and blobs to those that the images reach, and the totals.
func (p *Plan) gather(manifests []Manifest, blobs []Blob) error {
	known := &Plan{Manifests: manifests, Blobs: blobs}
	contents, err := known.Contents()
	if err != nil {
		return err
	}
	reached := map[digest.Digest]bool{}
	for _, img := range p.Images {
		err := contents.Walk(img.Digest,
			func(m *Manifest) error { reached[m.Digest] = true; return nil },
			func(b Blob) error { reached[b.Digest] = true; return nil })
		if err != nil {
			return err
		}
	}
	p.Manifests, p.Blobs = []Manifest{}, []Blob{}
	for _, m := range manifests {
		if reached[m.Digest] {
			p.Manifests = append(p.Manifests, m)
		}
	}
	for _, b := range blobs {
		if reached[b.Digest] {
			p.Blobs = append(p.Blobs, b)
		}
	}
	p.Totals = p.Count()
	return p.Check()
}

// OnlyCatalogs returns the plan of the images of some catalogs: what remains to be copied if all
// images that they name are in the mirror.
func (p *Plan) OnlyCatalogs(catalogs []string) (*Plan, error) {
	q := *p
	q.Images, q.Catalogs, q.Missing, q.Blocked, q.Notes = []Image{}, nil, nil, nil, nil
	q.Releases, q.Updates, q.UpdateGraphs, q.GraphData, q.TagRules, q.Charts, q.Files = nil, nil, nil, nil, nil, nil, nil
	for _, img := range p.Images {
		if img.Kind == CatalogImage && slices.Contains(catalogs, img.Catalog) {
			q.Images = append(q.Images, img)
		}
	}
	for _, c := range p.Catalogs {
		if slices.Contains(catalogs, c.Name()) {
			q.Catalogs = append(q.Catalogs, c)
		}
	}
	return &q, q.gather(p.Manifests, p.Blobs)
}

// WithoutSignatures returns the plan without images that belong to others: signatures, attestations,
// bills of materials and other referrers. It has no OpenPGP signatures of images either.
func (p *Plan) WithoutSignatures() (*Plan, error) {
	q := *p
	q.Images = slices.DeleteFunc(slices.Clone(p.Images), func(img Image) bool { return img.Kind.Belongs() })
	q.Missing = slices.DeleteFunc(slices.Clone(p.Missing), func(m Missing) bool { return m.Kind.Belongs() })
	for i := range q.Images {
		q.Images[i].Signatures = nil
	}
	if len(q.Images) == len(p.Images) && len(q.Missing) == len(p.Missing) {
		return &q, nil
	}
	return &q, q.gather(p.Manifests, p.Blobs)
}
