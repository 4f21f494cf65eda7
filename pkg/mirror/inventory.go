package mirror

import (
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// Inventory returns the images of a plan that are in a registry, and their blobs. A nil report
// means that everything was copied except for the images that the plan misses, so that catalogs and
// releases which name these were withheld.
func Inventory(p *plan.Plan, report *Report) ([]state.Repository, error) {
	contents, err := p.Contents()
	if err != nil {
		return nil, err
	}
	type imageKey struct{ source, repository string }
	absent, withheld := map[imageKey]bool{}, map[plan.Publishable]bool{}
	if report != nil {
		for _, f := range report.Failed {
			absent[imageKey{f.Source, f.Repository}] = true
		}
		for _, h := range report.Withheld {
			withheld[h.Publishable()] = true
		}
	} else {
		for _, m := range p.Missing {
			for _, because := range m.Reasons {
				if whole, ok := because.Publishable(); ok {
					withheld[whole] = true
				}
			}
		}
	}
	var all []state.Repository
	named := map[digest.Digest]bool{}
	for i := range p.Images {
		img := &p.Images[i]
		if whole, ok := img.Publishable(); absent[imageKey{img.Source, img.Repository}] || ok && withheld[whole] {
			continue
		}
		if n := len(all); n == 0 || all[n-1].Name != img.Repository {
			all = append(all, state.Repository{Name: img.Repository})
		}
		at := &all[len(all)-1]
		at.Images = append(at.Images, state.Image{Digest: img.Digest, Tags: img.Tags})
		err := contents.Walk(img.Digest, func(*plan.Manifest) error { return nil }, func(b plan.Blob) error {
			if !named[b.Digest] {
				named[b.Digest] = true
				at.Blobs = append(at.Blobs, state.Blob{Digest: b.Digest, Size: b.Size})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for i := range all {
		all[i].Images = sortedImages(all[i].Images)
		elements.Sort(all[i].Blobs, func(a, b state.Blob) int { return strings.Compare(string(a.Digest), string(b.Digest)) })
	}
	return all, nil
}

// sortedImages returns the images by digest, each once with all its tags.
func sortedImages(images []state.Image) []state.Image {
	elements.Sort(images, func(a, b state.Image) int { return strings.Compare(string(a.Digest), string(b.Digest)) })
	var all []state.Image
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

// Omitted is the content of a plan that a site already has, so that an archive for it need not
// carry it.
type Omitted struct {
	all   map[digest.Digest]struct{}
	where map[digest.Digest]string // the repository of a blob that a new image needs
	// Manifests, Blobs and Bytes are the numbers of omitted content, each counted once.
	Manifests, Blobs int
	Bytes            int64
}

// FindOmitted returns the content of a plan that the site of a receipt has. The manifests of images
// that it has as planned are omitted, and every blob that it has. The manifests of other images are
// not, so that importing never reads manifests from the destination.
func FindOmitted(p *plan.Plan, r *state.Receipt) (*Omitted, error) {
	contents, err := p.Contents()
	if err != nil {
		return nil, err
	}
	type siteImage struct {
		repository string
		digest     digest.Digest
	}
	there := map[siteImage][]string{}
	blobs := map[digest.Digest]siteBlob{}
	for i := range r.Repositories {
		at := &r.Repositories[i]
		for _, img := range at.Images {
			there[siteImage{at.Name, img.Digest}] = img.Tags
		}
		for _, b := range at.Blobs {
			blobs[b.Digest] = siteBlob{at.Name, b.Size}
		}
	}
	l := &Omitted{all: map[digest.Digest]struct{}{}, where: map[digest.Digest]string{}}
	needed := map[digest.Digest]bool{} // by images that are new
	visit := func(known bool) error {
		for i := range p.Images {
			img := &p.Images[i]
			tags, present := there[siteImage{img.Repository, img.Digest}]
			present = present && !slices.ContainsFunc(img.Tags, func(tag string) bool { return !slices.Contains(tags, tag) })
			if present != known {
				continue
			}
			err := contents.Walk(img.Digest, func(m *plan.Manifest) error {
				if !known {
					needed[m.Digest] = true
				} else if !needed[m.Digest] {
					l.add(m.Digest, m.Size, &l.Manifests)
				}
				return nil
			}, func(b plan.Blob) error {
				has, found := blobs[b.Digest]
				if !found || has.size != b.Size {
					return nil
				}
				l.add(b.Digest, b.Size, &l.Blobs)
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

// add omits content, and counts it once.
func (l *Omitted) add(d digest.Digest, size int64, count *int) {
	if !l.Has(d) {
		l.all[d] = struct{}{}
		l.Bytes += size
		*count++
	}
}

// A siteBlob is where a site has a blob.
type siteBlob struct {
	repository string
	size       int64
}

// Has reports whether content is omitted.
func (l *Omitted) Has(d digest.Digest) bool {
	_, ok := l.all[d]
	return ok
}

// Repository returns the repository with a blob that the site has and that a new image needs; "" if
// there is none.
func (l *Omitted) Repository(d digest.Digest) string { return l.where[d] }
