package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog/extension"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// namedCatalogs returns catalogs with the names of their objects in clusters: those that the workspace
// has, or those that a run would give them. The workspace need not exist.
func namedCatalogs(workspace string, s *build.Selection) ([]resources.Catalog, error) {
	saved, err := state.CatalogNames(workspace)
	if err != nil {
		return nil, err
	}
	all := elements.Map(s.Catalogs, func(c build.SelectedCatalog) resources.Catalog { return mirror.CatalogOf(c.Catalog) })
	named, _, err := resources.NameCatalogs(all, saved)
	return named, advice.Wrap(advice.Input, err, "")
}

// clusterCatalogs returns the ClusterCatalogs of a cluster: the given ones, each with the content
// of the mirror's catalog that it serves, or those that Gantry writes for the mirror. A given one
// that serves none of these catalogs is empty, and a warning is sent.
func clusterCatalogs(e *env.Env, given []extension.Catalog, workspace string, s *build.Selection) ([]extension.Catalog, error) {
	var emitted []extension.Catalog
	var locations []catalogLocation
	named, err := namedCatalogs(workspace, s)
	if err != nil {
		return nil, err
	}
	for i, c := range s.Catalogs {
		settings, err := named[i].ClusterCatalog()
		if err != nil {
			return nil, advice.Wrap(advice.Input, err, "")
		}
		emitted = append(emitted, extension.Catalog{
			Name: settings.Name, Labels: settings.Labels, Priority: settings.Priority, Unavailable: settings.Unavailable, Content: c.Result.Catalog,
		})
		locations = append(locations, locationOf(c.Catalog))
	}
	if len(given) == 0 {
		return emitted, nil
	}
	given = slices.Clone(given)
	for i := range given {
		best := -1
		rank := func(at int) int {
			if emitted[at].Name == given[i].Name {
				return sameDigest
			}
			return locations[at].serves(given[i].Ref)
		}
		for at := range emitted {
			if r := rank(at); r > 0 && (best < 0 || r > rank(best)) {
				best = at
			}
		}
		if best < 0 {
			e.Warnf("ClusterCatalog %s serves %s, which is not one of these catalogs; it is treated as empty", given[i].Name, given[i].Ref)
			continue
		}
		given[i].Content = emitted[best].Content
	}
	return given, nil
}

// A catalogLocation is where a catalog is, or will be, in a mirror, below its prefix.
type catalogLocation struct {
	repository, tag, digest string
}

// locationOf returns the location in the plan, or as much as is known without a plan.
func locationOf(c plan.Catalog) catalogLocation {
	if c.Repository != "" {
		return catalogLocation{c.Repository, c.Tag, c.Digest.String()}
	}
	ref, err := reference.Parse(c.Source)
	if err != nil { // of a layout or a folder
		ref = reference.Reference{}
	}
	repository, tag, _ := strings.Cut(c.Target, ":")
	return catalogLocation{cmp.Or(repository, ref.Path), cmp.Or(tag, ref.Tag), c.SourceDigest.String()}
}

// How well an image matches a location: by its repository, also by the tag, by the digest.
const (
	sameRepository = iota + 1
	sameTag
	sameDigest
)

// serves returns how well an image of a mirror matches the location, whatever its registry and
// prefix. 0 means that it does not match.
func (l catalogLocation) serves(image string) int {
	ref, err := reference.Parse(image)
	switch {
	case err != nil, l.repository == "", !strings.HasSuffix("/"+ref.Path, "/"+l.repository):
		return 0
	case ref.Digest != "" && ref.Digest.String() == l.digest:
		return sameDigest
	case ref.Tag != "" && ref.Tag == l.tag:
		return sameTag
	}
	return sameRepository
}
