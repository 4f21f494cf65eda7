package site

import (
	"maps"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// Key returns the name of the mirror in file names. If a file name cannot contain the mirror's name
// unchanged, a hash distinguishes it from others: "h/a/b" and "h/a-b" are two mirrors.
func (t *RegistryDestination) Key() string {
	exact := strings.TrimSuffix(t.Host+"/"+t.Prefix, "/")
	name := env.SafeName(exact)
	if name != exact && strings.Contains(t.Prefix, "/") {
		name += "-" + reference.ShortHash(exact)
	}
	return name
}

// Records returns the record of the mirror and an image set, nil if there is none, and the records of
// other image sets.
func Records(s *workspace.Session, t *RegistryDestination, name string) (mine *state.Record, others map[string]state.Record, err error) {
	if others, err = s.Records(t.Key()); err != nil {
		return nil, nil, err
	}
	if r, ok := others[name]; ok {
		mine = &r
		delete(others, name)
	}
	return mine, others, nil
}

// KnownTags returns which tags of the mirror are known before a run of the plan called name.
func KnownTags(s *workspace.Session, t *RegistryDestination, name string) (*mirror.KnownTags, error) {
	mine, others, err := Records(s, t, name)
	if err != nil {
		return nil, err
	}
	return mirror.NewKnownTags(t.Names, mine, slices.Collect(maps.Values(others))...), nil
}
