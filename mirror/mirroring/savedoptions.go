package mirroring

import (
	"github.com/gantry-mirror/gantry/mirror/site"
	"github.com/gantry-mirror/gantry/pkg/cluster"
	"github.com/gantry-mirror/gantry/pkg/workspace"
)

// cluster.ManifestOptions returns how the cluster resources of a run are written. t is nil if they are for no registry.
func manifestOptions(s *workspace.Session, o *Options, t *site.RegistryDestination) (cluster.ManifestOptions, error) {
	if o.again == nil {
		return o.manifests(), nil
	}
	saved, err := s.ManifestOptions(t.Key())
	if err != nil {
		return cluster.ManifestOptions{}, err
	}
	t.AliasOf = saved.AliasOf
	return o.again.Over(saved)
}
