package site

import (
	"maps"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// MirrorsOf returns the registries that runs mirrored to, sorted.
func MirrorsOf(runs []state.Run) []string {
	known := map[string]bool{}
	for _, r := range runs {
		if r.Mirror != "" && r.Destination != "" {
			known[r.Destination] = true
		}
	}
	return slices.Sorted(maps.Keys(known))
}

// OpenMirror opens a mirror registry, docker://HOST[:PORT][/PREFIX]. Other destinations are an error of kind
// advice.Input.
func OpenMirror(e *env.Env, destination string, opts DestinationOptions) (*RegistryDestination, error) {
	if !strings.HasPrefix(destination, env.RegistryScheme) {
		return nil, env.InputHint("write docker://HOST[:PORT][/PREFIX]", "%q is not a mirror registry", destination)
	}
	t, err := OpenDestination(e, destination, opts)
	if err != nil {
		return nil, err
	}
	return t.Registry(), nil
}
