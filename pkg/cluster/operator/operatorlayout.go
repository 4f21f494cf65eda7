package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	catalogimage "github.com/gantry-mirror/gantry/pkg/catalog/image"
	"github.com/gantry-mirror/gantry/pkg/catalog/source"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/search"
)

// openLayout uses the catalogs that the index of an OCI layout names. A layout has no plan.
func (s *Operators) openLayout(ctx context.Context, dir string) error {
	l, err := layout.Open(dir)
	if err != nil {
		return advice.Wrap(advice.Input, err, "")
	}
	index, err := l.Index()
	if err != nil {
		return err
	}
	named := map[string]digest.Digest{} // "REPOSITORY:TAG"
	for _, m := range index.Manifests {
		if name := m.Annotations[ocispec.AnnotationRefName]; name != "" {
			named[name] = m.Digest
		}
	}
	s.Images = site.LayoutReader{Layout: l}
	find := func(name string) (plannedImage, error) {
		ref, err := reference.Parse(name)
		if err != nil {
			return plannedImage{}, err
		}
		d := cmp.Or(ref.Digest, named[ref.Path+":"+ref.Tag])
		if d == "" {
			return plannedImage{}, fmt.Errorf("image %s is not in %s: %w", name, s.where, fs.ErrNotExist)
		}
		return plannedImage{Name: ref.Path, Digest: d}, nil
	}
	others := map[string]bool{} // repositories that are no catalogs
	for _, name := range slices.Sorted(maps.Keys(named)) {
		repository, _, _ := strings.Cut(name, ":")
		if others[repository] || search.NotCatalog().MatchString(strings.TrimPrefix(name, repository+":")) {
			continue
		}
		at := plannedImage{Name: name, Digest: named[name]}
		packages, err := s.packageNames(ctx, at)
		switch {
		case errors.Is(err, catalogimage.ErrNoCatalog):
			others[repository] = true
			continue
		case err != nil:
			return err
		}
		s.Catalogs = append(s.Catalogs, Catalog{Catalog: resources.Catalog{Source: name}, At: at, packages: packages, Image: find})
	}
	return nil
}

// packageNames returns the packages of a catalog. The error for another image is catalogimage.ErrNoCatalog.
func (s *Operators) packageNames(ctx context.Context, at plannedImage) ([]string, error) {
	src, err := s.open(ctx, at)
	if err != nil {
		return nil, err
	}
	if src.Kind == source.Bundle {
		return nil, catalogimage.ErrNoCatalog
	}
	content, err := src.Read(ctx, catalog.Options{Keep: func(string) bool { return false }})
	if err != nil {
		return nil, fmt.Errorf("reading catalog %s: %w", at.Name, err)
	}
	return append([]string{}, content.Names...), nil
}
