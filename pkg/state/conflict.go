package state

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// A ConflictError means that another image set has published a different catalog under the tag that
// a catalog would get.
type ConflictError struct {
	Catalog string // by its source
	Tag     string // in the mirror: "mirror.example.com:5000/ocp/org/index:v4.18"
	Owner   string // the name of the other image set
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("catalog %s would replace %s, a catalog of the image set %q", e.Catalog, e.Tag, e.Owner)
}

// Advice returns the kind Input and how to keep the two catalogs apart.
func (e *ConflictError) Advice() (advice.Kind, string) {
	return advice.Input, fmt.Sprintf("set another targetCatalog or targetTag in one of the two, merge the two configurations, "+
		"or set Options.Name to %s if this one replaces that one", e.Owner)
}

// CheckConflicts returns a *ConflictError if a catalog of a record would replace a catalog of
// another image set, whose clusters would silently lose operators. Image sets that select the same
// from the same source share a catalog.
func CheckConflicts(mine Record, others map[string]Record) error {
	for _, name := range slices.Sorted(maps.Keys(others)) {
		other := others[name]
		for _, c := range mine.Catalogs {
			tag := tagOf(c)
			i := slices.IndexFunc(other.Catalogs, func(o resources.Catalog) bool { return tagOf(o) == tag })
			if i < 0 {
				continue
			}
			published, selection := other.Catalogs[i], mine.Selections[tag]
			same := selection != "" && selection == other.Selections[tag] ||
				published.Mirror.Digest == c.Mirror.Digest && bytes.Equal(published.Template, c.Template) &&
					bytes.Equal(published.ClusterCatalogTemplate, c.ClusterCatalogTemplate)
			if !same {
				return &ConflictError{Catalog: c.Source, Tag: tag, Owner: name}
			}
		}
	}
	return nil
}

// Abandoned returns the sources of all catalogs of an earlier record of an image set if the later
// record has none of them, and nil if it has at least one. An edited configuration keeps some,
// perhaps with another tag or from another source. One that keeps none is probably another
// configuration with the same name.
func Abandoned(before, now Record) []string {
	var sources []string
	for _, b := range before.Catalogs {
		if slices.ContainsFunc(now.Catalogs, func(n resources.Catalog) bool {
			return n.Mirror.Name() == b.Mirror.Name() || RepositoryOf(n.Source) == RepositoryOf(b.Source)
		}) {
			return nil
		}
		sources = append(sources, b.Source)
	}
	return sources
}

// RepositoryOf returns a source without tag and digest.
func RepositoryOf(source string) string {
	ref, err := reference.Parse(source)
	if err != nil {
		return source // oci:// or dir://
	}
	return ref.Name()
}
