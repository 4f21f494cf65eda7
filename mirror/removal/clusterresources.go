package removal

import (
	"context"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/plan/cluster"
)

// knownResources writes the cluster resources of a mirror again, if the workspace has them. none means that the
// workspace may have no record left, as after the last image set was forgotten.
func knownResources(ctx context.Context, s *workspace.Session, t *site.RegistryDestination, none bool) (*cluster.ResourceFiles, error) {
	names, err := s.RecordNames(t.Key())
	if err != nil || len(names) == 0 && !none || !env.IsFolder(s.ResourcesDir(t.Key())) {
		return nil, err
	}
	return cluster.ResourcesAgain(ctx, s, t, &cluster.ResourcesOptions{})
}
