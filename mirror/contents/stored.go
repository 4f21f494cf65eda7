package contents

import (
	"cmp"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
)

// Stored is what is known of the content of an object. Fields are empty if they are unknown or were not asked for.
type Stored struct {
	// Size is the size of its images in bytes. Content that several of them share counts once.
	Size int64 `json:"size,omitempty"`
	// Here says whether the folders of the archive have it.
	Here airgap.Availability `json:"here,omitempty"`
	// Volumes are the files of the archive that have parts of it, sorted.
	Volumes []Volume `json:"volumes,omitempty"`
	// At says whether the mirror of Options.At has its images.
	At Presence `json:"at,omitempty"`
}

// A Volume is a file of an archive.
type Volume struct {
	Sequence int    `json:"sequence"`
	Name     string `json:"name"`
}

// A Presence says whether a mirror has images.
type Presence string

// The presences.
const (
	Present Presence = "yes"
	Partly  Presence = "partly"
	Absent  Presence = "no"
)

// A stock is what one plan says about content, and the archive that has it.
type stock struct {
	plan     *plan.Plan
	contents *plan.Contents
	have     *archive.Archive // nil for a mirror
	volumes  map[digest.Digest][]Volume
	here     map[digest.Digest]airgap.Availability // of images that were checked
	bundles  map[bundleKey][]*plan.Image
}

// A bundleKey identifies a bundle in a plan.
type bundleKey struct{ catalog, pkg, bundle string }

// newStock returns the stock of a plan; have may be nil.
func newStock(p *plan.Plan, have *archive.Archive) (*stock, error) {
	contents, err := p.Contents()
	if err != nil {
		return nil, err
	}
	s := &stock{plan: p, contents: contents, have: have, volumes: map[digest.Digest][]Volume{}, here: map[digest.Digest]airgap.Availability{}, bundles: map[bundleKey][]*plan.Image{}}
	for i := range p.Images {
		img := &p.Images[i]
		for _, r := range img.Reasons {
			key := bundleKey{r.Catalog, r.Package, r.Bundle}
			if all := s.bundles[key]; r.Bundle != "" && (len(all) == 0 || all[len(all)-1] != img) {
				s.bundles[key] = append(all, img)
			}
		}
	}
	if have == nil {
		return s, nil
	}
	for e := range have.Entries() {
		if !e.IsContent {
			continue
		}
		d := e.Digest
		if blob, ok := have.BlobOf(d); ok { // this is a delta for it
			d = blob.Digest
		}
		s.volumes[d] = append(s.volumes[d], Volume{e.Set.Sequence, e.Volume})
	}
	return s, nil
}

// of returns what is known of images of the plan.
func (s *stock) of(images ...*plan.Image) Stored {
	var out Stored
	seen, volumes := map[digest.Digest]bool{}, map[Volume]bool{}
	see := func(d digest.Digest, size int64) {
		if seen[d] {
			return
		}
		seen[d] = true
		out.Size += size
		for _, v := range s.volumes[d] {
			volumes[v] = true
		}
	}
	for _, img := range images {
		_ = s.contents.Walk(img.Digest, // the plan has been checked
			func(m *plan.Manifest) error { see(m.Digest, m.Size); return nil },
			func(b plan.Blob) error { see(b.Digest, b.Size); return nil })
		if s.have != nil {
			if s.here[img.Digest] == "" {
				s.here[img.Digest] = airgap.CheckImage(s.have, s.contents, img)
			}
			out.Here = worse(out.Here, s.here[img.Digest])
		}
	}
	for v := range volumes {
		out.Volumes = append(out.Volumes, v)
	}
	elements.Sort(out.Volumes, func(a, b Volume) int {
		return cmp.Or(cmp.Compare(a.Sequence, b.Sequence), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// worse returns the availability that is worse.
func worse(a, b airgap.Availability) airgap.Availability {
	rank := []airgap.Availability{"", airgap.Available, airgap.InEarlier, airgap.Unavailable}
	if slices.Index(rank, a) > slices.Index(rank, b) {
		return a
	}
	return b
}

// A presence knows the images of a mirror.
type presence struct {
	digests map[digest.Digest]bool
	sources map[string]bool
}

// newPresence returns the presence of the images of plans.
func newPresence(plans []*plan.Plan) *presence {
	p := &presence{map[digest.Digest]bool{}, map[string]bool{}}
	for _, one := range plans {
		for i := range one.Images {
			img := &one.Images[i]
			p.sources[img.Source], p.digests[img.Digest] = true, true
			if img.RewrittenFrom != "" {
				p.digests[img.RewrittenFrom] = true
			}
		}
	}
	return p
}

// has reports whether the mirror has an image by its reference.
func (p *presence) has(name string) bool {
	ref, err := reference.Parse(name)
	if err != nil {
		return p.sources[name]
	}
	return ref.Digest != "" && p.digests[ref.Digest] || p.sources[name] || p.sources[ref.String()]
}

// hasImage reports whether the mirror has an image of another plan.
func (p *presence) hasImage(img *plan.Image) bool {
	return p.digests[img.Digest] || p.sources[img.Source]
}

// of says whether the mirror has images, by their references.
func (p *presence) of(refs []string) Presence { return presenceOf(refs, p.has) }

// ofImages says whether the mirror has images of another plan.
func (p *presence) ofImages(images []*plan.Image) Presence { return presenceOf(images, p.hasImage) }

// presenceOf says whether has is true for all of a list.
func presenceOf[T any](all []T, has func(T) bool) Presence {
	n := 0
	for _, one := range all {
		if has(one) {
			n++
		}
	}
	switch {
	case n == len(all) && n > 0:
		return Present
	case n > 0:
		return Partly
	}
	return Absent
}
