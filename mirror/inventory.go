package mirror

import (
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/receipt"
	"github.com/gantry-mirror/gantry/plan"
)

// Inventory lists the images of a plan that are at a registry, and their blobs. A nil
// report stands for a registry to which all was brought that the plan does not miss, so
// that catalogs and releases which name something else were held back.
func Inventory(p *plan.Plan, report *Report) ([]receipt.Repository, error) {
	contents, err := p.Contents()
	if err != nil {
		return nil, err
	}
	type place struct{ source, repository string }
	absent, held := map[place]bool{}, map[plan.Whole]bool{}
	if report != nil {
		for _, f := range report.Failed {
			absent[place{f.Source, f.Repository}] = true
		}
		for _, h := range report.Held {
			held[h.Whole()] = true
		}
	} else {
		for _, m := range p.Missing {
			for _, because := range m.Because {
				if whole, ok := because.Whole(); ok {
					held[whole] = true
				}
			}
		}
	}
	var all []receipt.Repository
	named := map[digest.Digest]bool{}
	for i := range p.Images {
		img := &p.Images[i]
		if whole, ok := img.Whole(); absent[place{img.Source, img.Repository}] || ok && held[whole] {
			continue
		}
		if n := len(all); n == 0 || all[n-1].Name != img.Repository {
			all = append(all, receipt.Repository{Name: img.Repository})
		}
		at := &all[len(all)-1]
		at.Images = append(at.Images, receipt.Image{Digest: img.Digest, Tags: img.Tags})
		err := contents.Walk(img.Digest, func(*plan.Manifest) error { return nil }, func(b plan.Blob) error {
			if !named[b.Digest] {
				named[b.Digest] = true
				at.Blobs = append(at.Blobs, receipt.Blob{Digest: b.Digest, Size: b.Size})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for i := range all {
		all[i].Images = sortedImages(all[i].Images)
		slices.SortFunc(all[i].Blobs, func(a, b receipt.Blob) int { return strings.Compare(string(a.Digest), string(b.Digest)) })
	}
	return all, nil
}

// sortedImages are the images by digest, each once with all its tags.
func sortedImages(images []receipt.Image) []receipt.Image {
	slices.SortStableFunc(images, func(a, b receipt.Image) int { return strings.Compare(string(a.Digest), string(b.Digest)) })
	var all []receipt.Image
	for _, img := range images {
		if n := len(all); n > 0 && all[n-1].Digest == img.Digest {
			all[n-1].Tags = slices.Concat(all[n-1].Tags, img.Tags)
			continue
		}
		all = append(all, img)
	}
	for i := range all {
		all[i].Tags = slices.Compact(slices.Sorted(slices.Values(all[i].Tags)))
	}
	return all
}

// Left is the content of a plan that a site has already.
type Left struct {
	where map[digest.Digest]string
	// Manifests, Blobs and Bytes are what is left out, each content counted once.
	Manifests, Blobs int
	Bytes            int64
}

// Leave finds what of a plan the site has that a receipt is of. The manifests of an
// image that stands there as planned are left out, and every blob that stands there.
// The manifests of other images are not, so that a destination is never read from.
func Leave(p *plan.Plan, r *receipt.Receipt) (*Left, error) {
	contents, err := p.Contents()
	if err != nil {
		return nil, err
	}
	type place struct {
		repository string
		digest     digest.Digest
	}
	there := map[place][]string{}
	blobs := map[digest.Digest]standing{}
	for i := range r.Repositories {
		at := &r.Repositories[i]
		for _, img := range at.Images {
			there[place{at.Name, img.Digest}] = img.Tags
		}
		for _, b := range at.Blobs {
			blobs[b.Digest] = standing{at.Name, b.Size}
		}
	}
	l := &Left{where: map[digest.Digest]string{}}
	needed := map[digest.Digest]bool{} // by images that are new
	visit := func(known bool) error {
		for i := range p.Images {
			img := &p.Images[i]
			tags, stands := there[place{img.Repository, img.Digest}]
			stands = stands && !slices.ContainsFunc(img.Tags, func(tag string) bool { return !slices.Contains(tags, tag) })
			if stands != known {
				continue
			}
			err := contents.Walk(img.Digest, func(m *plan.Manifest) error {
				if !known {
					needed[m.Digest] = true
				} else if _, noted := l.where[m.Digest]; !noted && !needed[m.Digest] {
					l.where[m.Digest] = ""
					l.Manifests++
					l.Bytes += m.Size
				}
				return nil
			}, func(b plan.Blob) error {
				has, found := blobs[b.Digest]
				if !found || has.size != b.Size {
					return nil
				}
				if _, noted := l.where[b.Digest]; !noted {
					l.where[b.Digest] = ""
					l.Blobs++
					l.Bytes += b.Size
				}
				if !known {
					l.where[b.Digest] = has.repository
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := visit(false); err != nil {
		return nil, err
	}
	return l, visit(true)
}

// A standing is where a blob stands.
type standing struct {
	repository string
	size       int64
}

// Holds reports whether content is left out.
func (l *Left) Holds(d digest.Digest) bool {
	_, ok := l.where[d]
	return ok
}

// Where is the repository that has a blob which an image needs that the site does not
// have; "" where none does.
func (l *Left) Where(d digest.Digest) string { return l.where[d] }
