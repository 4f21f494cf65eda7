package site

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/lockfile"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
)

// A run may end at any moment, and its record is written last. So a run that pushes something writes before what it is going
// to push (setrecord.Pending), and removes that after its record. What a run left that has no record is wanted until a later run
// of its image set is recorded: it is continued then, or was given up.

// Announce records in the mirror that a run is going to push the content of a plan. The run continues if that fails: its
// content is complete without it. current is the last run of the image set, nil if there is none.
func Announce(ctx context.Context, s *workspace.Session, t *RegistryDestination, p *plan.Plan, current *setrecord.Revision) {
	run := setrecord.Pending{
		Name: p.Name, Since: t.Now().UTC().Truncate(time.Second), Version: strings.TrimPrefix(s.Env.UserAgent, "gantry/"),
		User: setrecord.Visible(env.UserName(s.Env.Variable)), Host: setrecord.Visible(lockfile.Host()), MaxNestedPaths: t.MaxNestedPaths,
	}
	if current != nil {
		run.Runs = current.Runs
	}
	repository := t.ImageSets()
	written, err := setrecord.Announce(ctx, repository, s.Sources.Cache, run, current, p.Write)
	if err != nil {
		if ctx.Err() == nil { // the record of the run fails, too, and then there is a warning
			s.Env.Logger().Info("if this run is killed, gantry prune does not find what it pushed", "repository", repository.Repository().Name(), "error", err)
		}
		return
	}
	if written != nil {
		t.announced = append(t.announced, *written)
	}
}

// AnnounceRun is announce for the plan of a run that has the records of the mirror.
func AnnounceRun(ctx context.Context, s *workspace.Session, t *RegistryDestination, p *plan.Plan) {
	if t.RecordProblem != nil || slices.Contains(t.unreadable, setrecord.Tag(p.Name)) {
		return // SyncRecords sent the warning
	}
	own, known := t.Recorded[p.Name]
	if !known {
		Announce(ctx, s, t, p, nil)
		return
	}
	Announce(ctx, s, t, p, own.lastRun(ctx, t))
}

// AnnounceShard is announce for the plan that a shard is a part of.
func AnnounceShard(ctx context.Context, s *workspace.Session, t *RegistryDestination, p *plan.Plan) {
	current, err := setrecord.Last(ctx, t.ImageSets(), p.Name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.Env.Logger().Info("if this run is killed, gantry prune does not find what it pushed", "error", err)
		return
	}
	Announce(ctx, s, t, p, current)
}

// RemoveAnnounced removes what this run announced and has in its record. If the registry does not delete, prune ignores it.
func RemoveAnnounced(ctx context.Context, s *workspace.Session, t *RegistryDestination, recorded *setrecord.Revision) {
	for i := range t.announced {
		run := &t.announced[i]
		if run.Name != recorded.Name || run.Plan != recorded.Plan || run.MaxNestedPaths != recorded.MaxNestedPaths {
			continue // images were pushed that are no longer in the plan
		}
		if err := t.ImageSets().Remove(ctx, run.Manifest); err != nil && ctx.Err() == nil {
			s.Env.Logger().Debug("removing what the run announced", "tag", run.Tag(), "error", err)
		}
	}
	t.announced = nil
}
