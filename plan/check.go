package plan

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
)

func (p *Plan) checkKind() error {
	if p.Kind != Kind {
		return fmt.Errorf("its kind is %q, not %s: give a file that gantry plan -o wrote", p.Kind, Kind)
	}
	return nil
}

func (p *Plan) checkVersion() error {
	if p.Version != Version {
		return fmt.Errorf("it has version %d, this gantry reads %d: make the plan again, or use the gantry that made it", p.Version, Version)
	}
	return nil
}

// check holds what readers of a plan rely on.
func (p *Plan) check() error {
	c, err := p.Contents()
	if err != nil {
		return err
	}
	for _, img := range p.Images {
		if !reference.IsPath(img.Repository) {
			return fmt.Errorf("image %s: %q is not a repository path", img.Source, img.Repository)
		}
		if len(img.Tags) == 0 {
			return fmt.Errorf("image %s has no tag", img.Source)
		}
		for _, t := range img.Tags {
			if !reference.IsTag(t) {
				return fmt.Errorf("image %s: %q is not a tag", img.Source, t)
			}
		}
		size, err := c.size(img.Digest)
		if err != nil {
			return fmt.Errorf("image %s: %w", img.Source, err)
		}
		if img.Size != size {
			return fmt.Errorf("image %s: its size is %d, but its manifests and blobs have %d bytes: the plan was altered, make it again", img.Source, img.Size, size)
		}
	}
	if got, want := p.Totals, p.count(); got != want {
		return fmt.Errorf("its totals are %s, but it holds %s: the plan was altered, make it again", got, want)
	}
	if !slices.IsSortedFunc(p.Images, compareImages) {
		return errors.New("its images are not in order")
	}
	for _, cat := range p.Catalogs {
		if !slices.ContainsFunc(p.Images, func(img Image) bool {
			return img.Catalog == cat.Name() && img.Kind == CatalogImage && img.Digest == cat.Digest
		}) {
			return fmt.Errorf("catalog %s has no image in the plan", cat.Name())
		}
	}
	for _, img := range p.Images {
		if (img.Kind == CatalogImage) != slices.ContainsFunc(p.Catalogs, func(cat Catalog) bool { return cat.Name() == img.Catalog }) {
			return fmt.Errorf("image %s is not that of a catalog in the plan", img.Source)
		}
	}
	if err := p.checkReleases(); err != nil {
		return err
	}
	return checkPlaces(p.Images)
}

// checkReleases holds releases and their images together.
func (p *Plan) checkReleases() error {
	payloads := map[string]*Image{}
	var graphs *Image
	for i := range p.Images {
		switch img := &p.Images[i]; img.Kind {
		case ReleaseImage:
			whole, _ := img.Whole()
			payloads[whole.Release] = img
		case GraphImage:
			if graphs = img; p.GraphData == nil || p.GraphData.Digest != img.Digest {
				return fmt.Errorf("image %s is not that of the plan's graph data", img.Source)
			}
		}
	}
	known := map[string]bool{}
	for _, r := range p.Releases {
		if known[r.Name()] {
			return fmt.Errorf("release %s is there twice", r.Name())
		}
		known[r.Name()] = true
		if err := r.check(payloads[r.Name()]); err != nil {
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
		if err := u.check(known); err != nil {
			return fmt.Errorf("the update from %s to %s in %s %w", u.From, u.To, u.Channel, err)
		}
	}
	return nil
}

// check holds a release against its image, nil where there is none.
func (r Release) check(img *Image) error {
	switch {
	case img == nil || img.Digest != r.Digest:
		return fmt.Errorf("release %s has no image in the plan", r.Name())
	case img.Source != r.Source:
		return fmt.Errorf("release %s: its image is not that of %s", r.Name(), r.Source)
	case !img.isAt(r.Repository, r.Tag):
		return fmt.Errorf("release %s: its image is not at %s:%s", r.Name(), r.Repository, r.Tag)
	}
	for _, s := range r.Signatures {
		if err := s.Digest.Validate(); err != nil {
			return fmt.Errorf("release %s: a signature is of %q: %w", r.Name(), s.Digest, err)
		}
	}
	return nil
}

// isAt reports whether the image gets this tag in this repository.
func (img *Image) isAt(repository, tag string) bool {
	return img.Repository == repository && slices.Contains(img.Tags, tag)
}

// check follows the path over releases that are known.
func (u UpdatePath) check(known map[string]bool) error {
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
	for _, version := range u.versions() {
		if name := release.Name(version, u.Arch); !known[name] {
			return fmt.Errorf("leads over %s, which the plan does not have", name)
		}
	}
	return nil
}

// versions are the releases of the path.
func (u UpdatePath) versions() []string {
	all := []string{u.From}
	for _, h := range u.Hops {
		all = append(all, h.To)
	}
	return all
}
