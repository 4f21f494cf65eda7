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
	blobs  []blob // unique, by digest
	// shared are the manifests that may have to be put more than once, since more
	// than one image has them.
	shared map[*plan.Manifest]bool
	// wholes are the images of catalogs and releases that wait for those which these
	// name.
	wholes map[plan.Whole][]*image
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
	whole   bool  // its blobs were there before anything was copied
	done    bool  // nothing more will happen to it
	waiting int   // blobs and, for a catalog, images that have to come first
	err     error // the first thing that went wrong
	// refused are the images that made that of a catalog or release fail.
	refused []string
}

// waits reports whether the image is that of a catalog or release, which comes
// after all that it names.
func (img *image) waits() bool {
	_, ok := img.Whole()
	return ok
}

// A blob is one unique blob. What else there is to know of it follows from the
// images, and is found out when its turn comes: there may be many blobs.
type blob struct {
	desc *plan.Blob
	// images are those that hold it, in the plan's order.
	images []*image
	// placed says that what can be done for the blob was done.
	placed bool
}

func (b *blob) descriptor() ocispec.Descriptor { return blobDescriptor(*b.desc) }

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
	w := &work{images: make([]*image, len(p.Images)), blobs: make([]blob, len(contents.Blobs())), shared: map[*plan.Manifest]bool{}}
	for i := range w.blobs {
		w.blobs[i].desc = &contents.Blobs()[i]
	}
	met := make(map[*plan.Manifest]bool, len(p.Manifests))
	seen := map[digest.Digest]bool{}
	var manifests []*plan.Manifest
	var blobs []*blob
	holders := make([]int, len(w.blobs)) // images, by blob
	images := make([]image, len(p.Images))
	for i := range images {
		img := &images[i]
		w.images[i], img.Image = img, &p.Images[i]
		if perRepository {
			img.repository = img.Repository
		}
		clear(seen)
		manifests, blobs = manifests[:0], blobs[:0]
		err := contents.WalkAt(img.Digest, func(m *plan.Manifest) error {
			if !seen[m.Digest] {
				seen[m.Digest] = true
				manifests = append(manifests, m)
				if met[m] {
					w.shared[m] = true
				}
				met[m] = true
			}
			return nil
		}, func(at int) error {
			if b := &w.blobs[at]; !seen[b.desc.Digest] {
				seen[b.desc.Digest] = true
				blobs = append(blobs, b)
				holders[at]++
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		img.manifests, img.blobs = slices.Clone(manifests), slices.Clone(blobs)
		if whole, ok := img.Whole(); ok && perRepository {
			for _, m := range p.Missing {
				if slices.ContainsFunc(m.Because, func(b plan.Because) bool {
					needs, ok := b.Whole()
					return ok && needs == whole
				}) {
					img.err = errHeld
					img.refused = append(img.refused, m.Source)
				}
			}
		}
	}
	for at, n := range holders {
		w.blobs[at].images = make([]*image, 0, n)
	}
	for _, img := range w.images {
		for _, b := range img.blobs {
			b.images = append(b.images, img)
		}
	}
	return w, nil
}

// need finds out what the images that lack blobs wait for, and returns the blobs
// that they wait for, largest first.
func (w *work) need() []*blob {
	for _, img := range w.images {
		img.whole = img.present || img.stays
		if !img.whole {
			img.waiting += len(img.blobs)
		}
	}
	var needed []*blob
	for i := range w.blobs {
		b := &w.blobs[i]
		if slices.ContainsFunc(b.images, func(img *image) bool { return !img.whole }) {
			needed = append(needed, b)
		}
	}
	slices.SortFunc(needed, func(a, b *blob) int {
		return cmp.Or(cmp.Compare(b.desc.Size, a.desc.Size), strings.Compare(string(a.desc.Digest), string(b.desc.Digest)))
	})
	return needed
}

// homes are the repositories that need the blob. Images come sorted by repository.
func (b *blob) homes() []*home {
	var homes []*home
	for _, img := range b.images {
		if img.whole {
			continue
		}
		if n := len(homes); n == 0 || homes[n-1].repository != img.repository {
			homes = append(homes, &home{repository: img.repository})
		}
		last := homes[len(homes)-1]
		last.waiting = append(last.waiting, img)
	}
	return homes
}

// known are the repositories that had the blob before anything was copied.
func (b *blob) known() []string {
	var known []string
	for _, img := range b.images {
		if n := len(known); img.whole && (n == 0 || known[n-1] != img.repository) {
			known = append(known, img.repository)
		}
	}
	return known
}

// from are the sources of images that hold the blob, maxFrom at most.
func (b *blob) from() []string {
	var from []string
	for _, img := range b.images {
		if n := len(from); n == 0 || from[n-1] != img.Source {
			from = append(from, img.Source)
		}
		if len(from) == maxFrom {
			break
		}
	}
	return from
}
