package mirror

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// work is a plan, split into what is to be done at one destination.
type work struct {
	images []*image
	blobs  []blob // unique, by digest
	// shared are manifests of more than one image, which may have to be pushed more than once.
	shared map[*plan.Manifest]bool
	// publishables are the images of catalogs and releases, which wait for the images that these
	// name.
	publishables map[plan.Publishable][]*image
}

// An image is one image of the plan and its state in this run.
type image struct {
	*plan.Image
	repository string // "" at a destination without repositories
	// manifests are those of the image, each once: children first, the root last.
	manifests []*plan.Manifest
	blobs     []*blob
	waits     *waits // nil for most images

	mu             sync.Mutex
	untagged       bool  // its manifests are pushed, but not its tags
	present        bool  // found at the destination before anything was copied
	onlyTagMissing bool  // all of it is present, except for its tag
	blobsPresent   bool  // its blobs were present before anything was copied
	finished       bool  // its result is final
	waiting        int   // number of blobs (for a catalog or release, also images) to wait for
	err            error // the first error
	manifestsDone  int   // number of manifests that the meter counts as done
}

// waits are what waits for an image, and what it waits for in vain.
type waits struct {
	// attachments wait until the manifests are pushed, and then the image's tags for them. tagsWaiting
	// are the images whose tags wait for this one.
	attachments, tagsWaiting []*image
	// missingImages are the images because of which a catalog or release is withheld.
	missingImages []string
}

// ensureWaits returns the waits of an image, to be changed.
func (img *image) ensureWaits() *waits {
	if img.waits == nil {
		img.waits = &waits{}
	}
	return img.waits
}

// hasAttachments reports whether attachments wait for the image.
func (img *image) hasAttachments() bool { return img.waits != nil && len(img.waits.attachments) > 0 }

// publishedLast reports whether the image belongs to a catalog or release, which is published after all images that it names.
func (img *image) publishedLast() bool {
	_, ok := img.Publishable()
	return ok
}

// A blob is one unique blob. Everything else about it follows from its images, and is computed when
// its turn comes, because there may be many blobs.
type blob struct {
	desc *plan.Blob
	// images are those with this blob, in the plan's order.
	images []*image
	// attempted means that the blob was copied, or that it failed.
	attempted bool
	config    bool // of an image
}

func (b *blob) descriptor() ocispec.Descriptor { return blobDescriptor(*b.desc) }

// A target is one repository that needs a blob, and the images that wait for it there.
type target struct {
	repository string
	waiting    []*image
}

// maxSources limits how many sources are tried for a blob.
const maxSources = 8

// newWork splits the plan. perRepository is false for a destination that stores content by digest
// alone: then every blob has one target.
func newWork(p *plan.Plan, perRepository bool) (*work, error) {
	contents, err := p.Contents()
	if err != nil {
		return nil, err
	}
	w := &work{images: make([]*image, len(p.Images)), blobs: make([]blob, len(contents.Blobs())), shared: map[*plan.Manifest]bool{}}
	for i := range w.blobs {
		w.blobs[i].desc = &contents.Blobs()[i]
	}
	pushedBefore := make(map[*plan.Manifest]bool, len(p.Manifests))
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
		first := true // blob of the manifest, which is the config
		err := contents.WalkIndexes(img.Digest, func(m *plan.Manifest) error {
			first = true
			if !seen[m.Digest] {
				seen[m.Digest] = true
				manifests = append(manifests, m)
				if pushedBefore[m] {
					w.shared[m] = true
				}
				pushedBefore[m] = true
			}
			return nil
		}, func(at int) error {
			b := &w.blobs[at]
			b.config, first = b.config || first, false
			if !seen[b.desc.Digest] {
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
		if whole, ok := img.Publishable(); ok && perRepository {
			for _, m := range p.Missing {
				if slices.ContainsFunc(m.Reasons, func(b plan.Reason) bool {
					needs, ok := b.Publishable()
					return ok && needs == whole
				}) {
					img.err = errWithheld
					img.ensureWaits().missingImages = append(img.ensureWaits().missingImages, m.Source)
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

// neededBlobs counts the blobs that images wait for, and returns these blobs, largest first.
func (w *work) neededBlobs() []*blob {
	for _, img := range w.images {
		img.blobsPresent = img.present || img.onlyTagMissing
		if !img.blobsPresent {
			img.waiting += len(img.blobs)
		}
	}
	var needed []*blob
	for i := range w.blobs {
		b := &w.blobs[i]
		if slices.ContainsFunc(b.images, func(img *image) bool { return !img.blobsPresent }) {
			needed = append(needed, b)
		}
	}
	elements.Sort(needed, func(a, b *blob) int {
		return cmp.Or(cmp.Compare(b.desc.Size, a.desc.Size), strings.Compare(string(a.desc.Digest), string(b.desc.Digest)))
	})
	return needed
}

// targets returns the repositories that need the blob. The images are sorted by repository.
func (b *blob) targets() []*target {
	var targets []*target
	for _, img := range b.images {
		if img.blobsPresent {
			continue
		}
		if n := len(targets); n == 0 || targets[n-1].repository != img.repository {
			targets = append(targets, &target{repository: img.repository})
		}
		last := targets[len(targets)-1]
		last.waiting = append(last.waiting, img)
	}
	return targets
}

// countTargets returns how many targets the blob has.
func (b *blob) countTargets() (n int64) {
	var last *image
	for _, img := range b.images {
		if !img.blobsPresent && (last == nil || last.repository != img.repository) {
			n++
			last = img
		}
	}
	return n
}

// known returns the repositories that had the blob before anything was copied.
func (b *blob) known() []string {
	var known []string
	for _, img := range b.images {
		if n := len(known); img.blobsPresent && (n == 0 || known[n-1] != img.repository) {
			known = append(known, img.repository)
		}
	}
	return known
}

// sources returns the sources of images with the blob, at most maxSources.
func (b *blob) sources() []string {
	var from []string
	for _, img := range b.images {
		if n := len(from); n == 0 || from[n-1] != img.Source {
			from = append(from, img.Source)
		}
		if len(from) == maxSources {
			break
		}
	}
	return from
}
