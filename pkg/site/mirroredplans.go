package site

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

// MirroredPlans returns the plans of PlansOf that have platform releases.
func MirroredPlans(ctx context.Context, e *env.Env, folder string, t *RegistryDestination) ([]*plan.Plan, error) {
	plans, lost, err := plansOf(ctx, e, folder, t)
	plans = slices.DeleteFunc(plans, func(p *plan.Plan) bool { return len(p.Releases) == 0 })
	switch {
	case err != nil || len(plans) > 0:
	case lost != nil:
		err = lost
	default:
		err = env.InputHint("set Options.Config, Options.Plan, Options.From and Options.To, or the Options.Workspace that was used for mirroring",
			"the updates to check are unknown: neither the mirror nor the workspace has a plan with releases for %s", t)
	}
	return plans, err
}

// PlansOf returns the plans of the image sets of a mirror, sorted by name: those in its records, or, if it has none or they
// cannot be read, those that the workspace in a folder last made.
func PlansOf(ctx context.Context, e *env.Env, folder string, t *RegistryDestination) ([]*plan.Plan, error) {
	plans, _, err := plansOf(ctx, e, folder, t)
	return plans, err
}

// plansOf is PlansOf. lost is why records cannot be read, which a warning said.
func plansOf(ctx context.Context, e *env.Env, folder string, t *RegistryDestination) (all []*plan.Plan, lost, err error) {
	recorded, revisions, lost := t.RecordedPlans(ctx)
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	if lost == nil && len(revisions) > 0 {
		return recorded, nil, nil
	}
	plans := map[string]*plan.Plan{}
	for _, p := range recorded {
		plans[p.Name] = p
	}
	if lost != nil {
		e.Warnf("records of %s cannot be read; the workspace is searched for what it last planned: %v", t, lost)
	}
	if err := addPlanned(e, folder, t, plans); err != nil {
		return nil, nil, err
	}
	return elements.Sorted(maps.Values(plans), func(a, b *plan.Plan) int { return strings.Compare(a.Name, b.Name) }), lost, nil
}

// addPlanned adds the plans of other image sets that the workspace in a folder, if any, has records of.
func addPlanned(e *env.Env, folder string, t *RegistryDestination, plans map[string]*plan.Plan) error {
	if _, err := os.Stat(env.WorkspaceDir(folder)); errors.Is(err, fs.ErrNotExist) {
		return nil // and none is made
	}
	s, err := workspace.OpenSession(e, env.WorkspaceDir(folder))
	if err != nil {
		return err
	}
	defer s.Release()
	records, err := s.Records(t.Key())
	for _, name := range slices.Sorted(maps.Keys(records)) {
		if plans[name] != nil || err != nil {
			continue
		}
		if plans[name], err = mirroredPlan(s, t, name); errors.Is(err, fs.ErrNotExist) {
			delete(plans, name)
			e.Warnf("neither the mirror nor the workspace has the plan %s that was mirrored to %s, so its content is not included", name, t)
			err = nil
		}
	}
	return err
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
