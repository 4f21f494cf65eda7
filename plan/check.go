package plan

import (
	"errors"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"

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
	payloads := map[string]digest.Digest{}
	graphs := 0
	for i := range p.Images {
		switch img := &p.Images[i]; img.Kind {
		case ReleaseImage:
			whole, _ := img.Whole()
			payloads[whole.Release] = img.Digest
		case GraphImage:
			graphs++
			if p.GraphData == nil || p.GraphData.Digest != img.Digest {
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
		if payloads[r.Name()] != r.Digest {
			return fmt.Errorf("release %s has no image in the plan", r.Name())
		}
	}
	if len(payloads) > len(p.Releases) {
		return errors.New("it has payloads of releases that it does not list")
	}
	if p.GraphData != nil && graphs == 0 {
		return errors.New("its graph data has no image in the plan")
	}
	for _, u := range p.Updates {
		for _, version := range u.versions() {
			if name := release.Name(version, u.Arch); !known[name] {
				return fmt.Errorf("the update from %s to %s in %s leads over %s, which the plan does not have", u.From, u.To, u.Channel, name)
			}
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
