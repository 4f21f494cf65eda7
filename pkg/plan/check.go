package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/release"
)

func (p *Plan) checkKind() error {
	if p.Kind != Kind {
		return advice.New(advice.Failure, "use a file written by gantry plan", "its kind is %s, not %s", quoted(p.Kind), Kind)
	}
	return nil
}

func (p *Plan) checkVersion() error {
	if p.Version != Version {
		return advice.New(advice.Failure, "make the plan again, or use the gantry that made it", "it has version %d, this gantry reads %d", p.Version, Version)
	}
	return nil
}

// makeAgain is the hint for a plan that was changed after it was written.
const makeAgain = "the plan was changed; make it again"

// Check returns an error if the plan breaks a rule that its readers rely on: each field has a value
// that is possible and not too long, sizes, totals and order are right, and catalogs, releases and
// updates refer to images in the plan.
func (p *Plan) Check() error {
	if err := p.checkFields(); err != nil {
		return err
	}
	return p.checkWhole()
}

// checkWhole checks how the entries of the plan fit together.
func (p *Plan) checkWhole() error {
	c, err := p.Contents()
	if err != nil {
		return err
	}
	if err := p.checkSizes(c); err != nil {
		return err
	}
	if p.Count().Bytes > maxBytes {
		return fmt.Errorf("its content has more than %d bytes", int64(maxBytes))
	}
	if got, want := p.Totals, p.Count(); got != want {
		return advice.New(advice.Failure, makeAgain, "its totals are %s, but it contains %s", got, want)
	}
	if !slices.IsSortedFunc(p.Images, CompareImages) {
		return errors.New("its images are not in order")
	}
	if err := p.checkCatalogs(); err != nil {
		return err
	}
	if err := p.checkRewritten(c); err != nil {
		return err
	}
	if err := p.checkReleases(); err != nil {
		return err
	}
	if err := p.checkCharts(); err != nil {
		return err
	}
	if err := p.checkFiles(); err != nil {
		return err
	}
	return CheckTags(p.Images)
}

// checkSizes compares the sizes of images with those of their content.
func (p *Plan) checkSizes(c *Contents) error {
	type content struct {
		size   int64
		visits int
	}
	contents, visits := map[digest.Digest]content{}, 0
	for _, img := range p.Images {
		of, ok := contents[img.Digest]
		if !ok {
			var err error
			if of.size, of.visits, err = c.size(img.Digest); err != nil {
				return fmt.Errorf("image %s: %w", img.Source, err)
			}
			contents[img.Digest] = of
		}
		if img.Size != of.size {
			return advice.New(advice.Failure, makeAgain, "image %s: its size is %d, but its manifests and blobs have %d bytes", img.Source, img.Size, of.size)
		}
		if visits += of.visits; visits > maxAllVisits {
			return fmt.Errorf("its images list more than %d manifests and blobs", maxAllVisits)
		}
	}
	return nil
}

// checkCatalogs checks that catalogs and their images match.
func (p *Plan) checkCatalogs() error {
	digests := map[string]map[digest.Digest]bool{} // of catalog images, by the name of the catalog
	for _, img := range p.Images {
		if img.Kind == CatalogImage {
			if digests[img.Catalog] == nil {
				digests[img.Catalog] = map[digest.Digest]bool{}
			}
			digests[img.Catalog][img.Digest] = true
		}
	}
	names := map[string]bool{}
	for _, cat := range p.Catalogs {
		name := cat.Name()
		names[name] = true
		if !digests[name][cat.Digest] {
			return fmt.Errorf("catalog %s has no image in the plan", name)
		}
		if cat.VariantOf == name {
			return fmt.Errorf("catalog %s is a variant of itself", name)
		}
	}
	for _, img := range p.Images {
		if (img.Kind == CatalogImage) != names[img.Catalog] {
			return fmt.Errorf("image %s is not the image of a catalog in the plan", img.Source)
		}
	}
	return nil
}

// checkReleases checks that releases and their images match.
func (p *Plan) checkReleases() error {
	payloads := map[string]*Image{}
	var graphs *Image
	for i := range p.Images {
		switch img := &p.Images[i]; img.Kind {
		case ReleaseImage:
			whole, _ := img.Publishable()
			payloads[whole.Release] = img
		case GraphImage:
			if graphs = img; p.GraphData == nil || p.GraphData.Digest != img.Digest {
				return fmt.Errorf("image %s is not the image of the plan's graph data", img.Source)
			}
		}
	}
	known := map[string]bool{}
	for _, r := range p.Releases {
		if known[r.Name()] {
			return fmt.Errorf("release %s is listed twice", r.Name())
		}
		known[r.Name()] = true
		if err := r.checkImage(payloads[r.Name()]); err != nil {
			return err
		}
	}
	if len(payloads) > len(p.Releases) {
		return errors.New("it has payloads of releases that it does not list")
	}
	switch g := p.GraphData; {
	case g == nil:
	case graphs == nil:
		return errors.New("its graph data has no image in the plan")
	case !graphs.isAt(g.Repository, g.Tag):
		return fmt.Errorf("the image of graph data is not at %s:%s", g.Repository, g.Tag)
	}
	for _, u := range p.Updates {
		if err := checkUpdatePath(u, known); err != nil {
			return fmt.Errorf("the update from %s to %s in %s %w", u.From, u.To, u.Channel, err)
		}
	}
	return nil
}

// checkImage compares a release with its image, which may be nil.
func (r Release) checkImage(img *Image) error {
	switch {
	case img == nil || img.Digest != r.Digest:
		return fmt.Errorf("release %s has no image in the plan", r.Name())
	case img.Source != r.Source:
		return fmt.Errorf("release %s: the source of its image is not %s", r.Name(), r.Source)
	case !img.isAt(r.Repository, r.Tag):
		return fmt.Errorf("release %s: its image is not at %s:%s", r.Name(), r.Repository, r.Tag)
	}
	return nil
}

// checkUpdatePath returns an error if the path has a gap, or a release that is not known.
func checkUpdatePath(u UpdatePath, known map[string]bool) error {
	at := u.From
	for _, h := range u.Hops {
		if h.From != at {
			return fmt.Errorf("has a gap before %s", h.To)
		}
		at = h.To
	}
	if at != u.To {
		return fmt.Errorf("ends at %s", at)
	}
	for _, version := range u.Versions() {
		if name := release.Name(version, u.Arch); !known[name] {
			return fmt.Errorf("leads over %s, which the plan does not have", name)
		}
	}
	return nil
}

// CheckTags returns an error if two images have the same repository and tag, because the second push
// would replace the first image.
func CheckTags(images []Image) error {
	images = inOrder(images, func(a, b Image) int { return strings.Compare(a.Repository, b.Repository) })
	holder := map[string]*Image{} // by tag, of one repository
	for i := range images {
		img := &images[i]
		if i > 0 && img.Repository != images[i-1].Repository {
			clear(holder)
		}
		for _, tag := range img.Tags {
			if other := holder[tag]; other != nil && other.Digest != img.Digest {
				return advice.New(advice.Input, "give one of them another target", "%s and %s would both become %s:%s", other.Source, img.Source, img.Repository, tag)
			}
			holder[tag] = img
		}
	}
	return nil
}
