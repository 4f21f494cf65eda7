package mirror

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/plan"
)

// work is a plan taken apart into what is to be done at one sink.
type work struct {
	images []*image
	blobs  []*blob // unique
	// shared are the manifests that more than one image has.
	shared map[*plan.Manifest]bool
	// catalogs are the images that each catalog names, by its name.
	catalogs map[string][]*image
}

// An image is one image of the plan on its way.
type image struct {
	*plan.Image
	repository string // "" at a sink without repositories
	// manifests are those of the image, children first, the root last, each
	// once.
	manifests []*plan.Manifest
	blobs     []*blob

	mu      sync.Mutex
	present bool  // found at the sink before anything was copied
	stays   bool  // all of it is there, except for its tag
	waiting int   // blobs and, for a catalog, images that have to come first
	err     error // the first thing that went wrong
	done    bool  // nothing more will happen to it
	// feeds are the catalog images that wait for this one.
	feeds []*image
	// refused are the images that made a catalog image fail.
	refused []string
}

// A blob is one unique blob and the repositories that need it.
type blob struct {
	desc plan.Blob
	// from are the sources of the images that hold it, in the plan's order.
	from  []string
	homes []*home
	// known are repositories that have the blob.
	known []string
	// elsewhere is a repository that was found to have the blob, which the source
	// leaves out; "" where there is none.
	elsewhere string
	// placed says that what can be done for the blob was done.
	placed bool
}

func (b *blob) descriptor() ocispec.Descriptor { return blobDescriptor(b.desc) }

// A home is one repository that needs a blob, and the images that wait for it
// there.
type home struct {
	repository string
	waiting    []*image
}

// maxFrom bounds how many sources are tried for a blob that one of them lacks.
const maxFrom = 8

// take divides the plan. perRepository is false for a sink that keeps content
// by digest alone: there, everything has one home.
func take(p *plan.Plan, perRepository bool) (*work, error) {
	contents, err := p.Contents()
	if err != nil {
		return nil, err
	}
	w := &work{images: make([]*image, 0, len(p.Images)), catalogs: map[string][]*image{}, shared: map[*plan.Manifest]bool{}}
	met := make(map[*plan.Manifest]bool, len(p.Manifests))
	blobs := map[digest.Digest]*blob{}
	for i := range p.Images {
		img := &image{Image: &p.Images[i]}
		if perRepository {
			img.repository = img.Repository
		}
		seen := map[digest.Digest]bool{}
		err := contents.Walk(img.Digest, func(m *plan.Manifest) error {
			if !seen[m.Digest] {
				seen[m.Digest] = true
				img.manifests = append(img.manifests, m)
				if met[m] {
					w.shared[m] = true
				}
				met[m] = true
			}
			return nil
		}, func(pb plan.Blob) error {
			if seen[pb.Digest] {
				return nil
			}
			seen[pb.Digest] = true
			b := blobs[pb.Digest]
			if b == nil {
				b = &blob{desc: pb}
				blobs[pb.Digest] = b
				w.blobs = append(w.blobs, b)
			}
			if n := len(b.from); n < maxFrom && (n == 0 || b.from[n-1] != img.Source) {
				b.from = append(b.from, img.Source)
			}
			img.blobs = append(img.blobs, b)
			return nil
		})
		if err != nil {
			return nil, err
		}
		if img.Kind == plan.CatalogImage && perRepository {
			for _, m := range p.Missing {
				if slices.ContainsFunc(m.Because, func(b plan.Because) bool { return b.Catalog == img.Catalog }) {
					img.err = errHeld
					img.refused = append(img.refused, m.Source)
				}
			}
		}
		w.images = append(w.images, img)
		for _, because := range img.Because {
			if because.Catalog != "" && img.Kind != plan.CatalogImage {
				if list := w.catalogs[because.Catalog]; len(list) == 0 || list[len(list)-1] != img {
					w.catalogs[because.Catalog] = append(list, img)
				}
			}
		}
	}
	return w, nil
}

// need enters the images that lack blobs into the homes of their blobs and
// returns the blobs that have any, largest first.
func (w *work) need() []*blob {
	for _, img := range w.images {
		if img.present || img.stays {
			for _, b := range img.blobs {
				if n := len(b.known); n == 0 || b.known[n-1] != img.repository {
					b.known = append(b.known, img.repository)
				}
			}
			continue
		}
		for _, b := range img.blobs {
			b.home(img.repository).wait(img)
		}
	}
	var needed []*blob
	for _, b := range w.blobs {
		if len(b.homes) > 0 {
			needed = append(needed, b)
		}
	}
	slices.SortFunc(needed, func(a, b *blob) int {
		return cmp.Or(cmp.Compare(b.desc.Size, a.desc.Size), strings.Compare(string(a.desc.Digest), string(b.desc.Digest)))
	})
	return needed
}

// home returns the blob's home in the repository. Images come sorted by
// repository, so that it is the last one or a new one.
func (b *blob) home(repository string) *home {
	if n := len(b.homes); n > 0 && b.homes[n-1].repository == repository {
		return b.homes[n-1]
	}
	h := &home{repository: repository}
	b.homes = append(b.homes, h)
	return h
}

func (h *home) wait(img *image) {
	h.waiting = append(h.waiting, img)
	img.waiting++
}
