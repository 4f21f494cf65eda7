package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog/extension"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/plan"
)

// clusterCatalogs are the ClusterCatalogs that a cluster has: those that are
// given, each with the content of the catalog of the mirror that it serves, or
// those that Gantry emits. One that serves none of the mirror's is empty, and
// that is said.
func (a *app) clusterCatalogs(given []extension.Catalog, s *plan.Selection) ([]extension.Catalog, error) {
	var emitted []extension.Catalog
	var places []place
	for _, c := range s.Catalogs {
		name, err := resources.Catalog{Source: c.Catalog.Source, Target: c.Catalog.Target}.ClusterCatalogName()
		if err != nil {
			return nil, err
		}
		emitted = append(emitted, extension.Catalog{Name: name, Content: c.Result.Catalog})
		places = append(places, placeOf(c.Catalog))
	}
	if len(given) == 0 {
		return emitted, nil
	}
	given = slices.Clone(given)
	for i := range given {
		best := -1
		rank := func(at int) int {
			if emitted[at].Name == given[i].Name {
				return exactly
			}
			return places[at].serves(given[i].Ref)
		}
		for at := range emitted {
			if r := rank(at); r > 0 && (best < 0 || r > rank(best)) {
				best = at
			}
		}
		if best < 0 {
			a.warn("ClusterCatalog %s serves %s, which is none of these catalogs; it is taken for empty", given[i].Name, given[i].Ref)
			continue
		}
		given[i].Content = emitted[best].Content
	}
	return given, nil
}

// A place is where a catalog is, or will be, in a mirror, below its prefix.
type place struct {
	repository, tag, digest string
}

// placeOf is the place in the plan, or what is known of it before there is one.
func placeOf(c plan.Catalog) place {
	if c.Repository != "" {
		return place{c.Repository, c.Tag, c.Digest.String()}
	}
	ref, err := reference.Parse(c.Source)
	if err != nil { // of a layout or a folder
		ref = reference.Reference{}
	}
	repository, tag, _ := strings.Cut(c.Target, ":")
	return place{cmp.Or(repository, ref.Path), cmp.Or(tag, ref.Tag), c.SourceDigest.String()}
}

// How well an image fits a place: by its repository alone, by the tag too, by
// the digest.
const (
	nearly = iota + 1
	closely
	exactly
)

// serves says how well an image of a mirror, whatever its registry and prefix,
// fits the place; 0 is not at all.
func (p place) serves(image string) int {
	ref, err := reference.Parse(image)
	switch {
	case err != nil, p.repository == "", !strings.HasSuffix("/"+ref.Path, "/"+p.repository):
		return 0
	case ref.Digest != "" && ref.Digest.String() == p.digest:
		return exactly
	case ref.Tag != "" && ref.Tag == p.tag:
		return closely
	}
	return nearly
}
