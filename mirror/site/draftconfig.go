package site

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/workspace"
	"github.com/gantry-mirror/gantry/plan"
)

// PlansOf returns the plans that the workspace in a folder has for a mirror, sorted by name; none if the
// folder does not exist or the mirror was not filled from it.
func PlansOf(e *env.Env, folder string, t *RegistryDestination) ([]*plan.Plan, error) {
	if _, err := os.Stat(env.WorkspaceDir(folder)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil // and none is made
	}
	s, err := workspace.OpenSession(e, env.WorkspaceDir(folder))
	if err != nil {
		return nil, err
	}
	defer s.Release()
	_, records, err := Records(s, t, "")
	if err != nil {
		return nil, err
	}
	var plans []*plan.Plan
	for _, name := range slices.Sorted(maps.Keys(records)) {
		p, err := mirroredPlan(s, t, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			e.Warnf("the workspace no longer has the plan %s that was mirrored to %s, so its content is not included", name, t)
		case err != nil:
			return nil, err
		default:
			plans = append(plans, p)
		}
	}
	return plans, nil
}
