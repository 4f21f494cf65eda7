package site

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// MirroredPlans returns the plans with platform releases that were copied to a mirror from the
// workspace in a folder, sorted by name.
func MirroredPlans(e *env.Env, folder string, t *RegistryDestination) ([]*plan.Plan, error) {
	plans, err := readPlans(e, folder, t, func(r *state.Record) bool { return len(r.Releases) > 0 }, func(name string, err error) error {
		return env.InputHint("set Options.Plan to it", "the workspace no longer has the plan %[2]s that was mirrored to %[1]s: %[3]w", t, name, err)
	})
	if err == nil && len(plans) == 0 {
		err = env.InputHint("set Options.Config, Options.Plan, Options.From and Options.To, or the Options.Workspace that was used for mirroring",
			"the updates to check are unknown: the workspace has no releases that were mirrored to %s", t)
	}
	return plans, err
}

// readPlans returns the plans of the image sets of a mirror with some records, sorted by name. gone is called for a plan
// that the workspace no longer has; without an error, it is left out.
func readPlans(e *env.Env, folder string, t *RegistryDestination, of func(*state.Record) bool, gone func(name string, err error) error) ([]*plan.Plan, error) {
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
		if r := records[name]; !of(&r) {
			continue
		}
		p, err := mirroredPlan(s, t, name)
		if errors.Is(err, fs.ErrNotExist) {
			err = gone(name, err)
		}
		if err != nil {
			return nil, err
		}
		if p != nil {
			plans = append(plans, p)
		}
	}
	return plans, nil
}

// mirroredPlan returns the plan of an image set that was last copied to a mirror. If the workspace no
// longer has it, the error matches fs.ErrNotExist.
func mirroredPlan(s *workspace.Session, t *RegistryDestination, name string) (*plan.Plan, error) {
	text, err := s.OpenImportedPlan(t.Key(), name)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = s.OpenPlan(name)
	}
	if err != nil {
		return nil, err
	}
	p, err := plan.Read(text)
	if err = errors.Join(err, text.Close()); err != nil {
		return nil, fmt.Errorf("reading the plan %s of the workspace: %w", name, err)
	}
	return p, nil
}

// PlansOf returns the plans that the workspace in a folder has for a mirror, sorted by name; none if the
// folder does not exist or the mirror was not filled from it.
func PlansOf(e *env.Env, folder string, t *RegistryDestination) ([]*plan.Plan, error) {
	if _, err := os.Stat(env.WorkspaceDir(folder)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil // and none is made
	}
	return readPlans(e, folder, t, func(*state.Record) bool { return true }, func(name string, _ error) error {
		e.Warnf("the workspace no longer has the plan %s that was mirrored to %s, so its content is not included", name, t)
		return nil
	})
}
