package plan

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/reference"
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
	return checkPlaces(p.Images)
}
