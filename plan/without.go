package plan

import (
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/release"
)

// A Lost is an image of a plan that could not be brought to its repository, and
// why.
type Lost struct {
	Source, Repository string
	Err                error
}

// Without is the plan as it would have been made had the source not given the
// lost images: they are among its Missing. A catalog or a release whose own image
// is lost goes, and so do the updates that lead over it; what it names stays.
func (p *Plan) Without(lost []Lost) (*Plan, error) {
	type place struct{ source, repository string }
	reasons := map[place]error{}
	for _, l := range lost {
		reasons[place{l.Source, l.Repository}] = l.Err
	}
	q := *p
	q.Images, q.Missing, q.Catalogs = []Image{}, slices.Clone(p.Missing), nil
	gone := map[Whole]bool{}
	for _, img := range p.Images {
		err, isLost := reasons[place{img.Source, img.Repository}]
		if !isLost {
			q.Images = append(q.Images, img)
			continue
		}
		if w, ok := img.Whole(); ok {
			gone[w] = true
		}
		if img.Kind == GraphImage {
			q.GraphData = nil
		}
		q.Missing = append(q.Missing, Missing{Source: img.Source, Kind: img.Kind, Reason: err.Error(), Because: img.Because, err: err})
	}
	for _, c := range p.Catalogs {
		if !gone[Whole{Catalog: c.Name()}] {
			q.Catalogs = append(q.Catalogs, c)
		}
	}
	q.Releases = slices.DeleteFunc(slices.Clone(p.Releases), func(r Release) bool { return gone[Whole{Release: r.Name()}] })
	q.Updates = slices.DeleteFunc(slices.Clone(p.Updates), func(u UpdatePath) bool {
		return slices.ContainsFunc(u.versions(), func(v string) bool { return gone[Whole{Release: release.Name(v, u.Arch)}] })
	})
	q.unblock(func(b Blocker) bool { return gone[Whole{Catalog: b.Catalog}] })
	return &q, q.gather(p.Manifests, p.Blobs)
}

// gather fills in the manifests and blobs that the images reach, out of those
// that are known, and the totals.
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
	p.Totals = p.count()
	return p.check()
}

// Only is the plan of the images of some catalogs and nothing else: what is left
// to copy where all that they name has arrived.
func (p *Plan) Only(catalogs []string) (*Plan, error) {
	q := *p
	q.Images, q.Catalogs, q.Missing, q.Blocked, q.Notes = []Image{}, nil, nil, nil, nil
	q.Releases, q.Updates, q.UpdateGraphs, q.GraphData = nil, nil, nil, nil
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
