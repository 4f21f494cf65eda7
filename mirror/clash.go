package mirror

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// A ClashError says that another plan holds the place in the mirror that a
// catalog would get, with something else in it.
type ClashError struct {
	Catalog string // of the plan, by its source
	Place   string // "mirror.example.com:5000/ocp/org/index:v4.18"
	Other   string // name of the plan that has it
}

func (e *ClashError) Error() string {
	return fmt.Sprintf("catalog %s would take the place of another one: %s holds the catalog that %q chose", e.Catalog, e.Place, e.Other)
}

// Clash finds a catalog of a plan's holding that would replace one of another
// plan of the mirror, whose clusters would lose operators without a word. Plans
// that choose the same of the same source share a catalog. The error is a
// *ClashError.
func Clash(mine Holding, others map[string]Holding) error {
	for _, name := range slices.Sorted(maps.Keys(others)) {
		other := others[name]
		for _, c := range mine.Catalogs {
			place := placeOf(c)
			i := slices.IndexFunc(other.Catalogs, func(o resources.Catalog) bool { return placeOf(o) == place })
			if i < 0 {
				continue
			}
			there, chosen := other.Catalogs[i], mine.Selections[place]
			same := chosen != "" && chosen == other.Selections[place] ||
				there.Mirror.Digest == c.Mirror.Digest && bytes.Equal(there.Template, c.Template)
			if !same {
				return &ClashError{Catalog: c.Source, Place: place, Other: name}
			}
		}
	}
	return nil
}

// Abandoned lists the catalogs of an earlier holding of a plan, by their
// sources, where the later one has not one of them. An edited configuration
// keeps some, be it with another tag or from another source; one that keeps
// none is probably another configuration of the same name.
func Abandoned(before, now Holding) []string {
	var gone []string
	for _, b := range before.Catalogs {
		if slices.ContainsFunc(now.Catalogs, func(n resources.Catalog) bool {
			return n.Mirror.Name() == b.Mirror.Name() || repositoryOf(n.Source) == repositoryOf(b.Source)
		}) {
			return nil
		}
		gone = append(gone, b.Source)
	}
	return gone
}

// repositoryOf is a source without tag and digest.
func repositoryOf(source string) string {
	ref, err := reference.Parse(source)
	if err != nil {
		return source // oci:// or dir://
	}
	return ref.Name()
}
