package mirroring

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/copying"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/plan/admission"
	"github.com/gantry-mirror/gantry/plan/gates"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// A recordedRun is a run whose beginning and end are saved in the workspace. If that fails, it is
// logged: nothing but the status depends on it.
type recordedRun struct {
	session *workspace.Session
	gates   *gates.Programs // of the run; nil without one
	state.Run
	dir   string // of the workspace, absolute
	other string // the workspace that was used for the destination before, if not this one
	// finished has the plans of the last runs to the destination that ended, by image set, and again says that this run
	// has the plan of the last one.
	finished map[string]digest.Digest
	again    bool
}

// beginRun records that a run began. A dry run is not recorded.
func beginRun(s *workspace.Session, o *Options, t site.Destination, have *archive.Archive) *recordedRun {
	r := &recordedRun{session: s, Run: state.Run{Destination: absolute(o.Destination), Started: time.Now().UTC().Truncate(time.Second), Result: state.RunStarted}}
	if o.Config != "" {
		r.Name = selection.PlanName(o.Name, o.Config)
	}
	if to := t.Registry(); to != nil {
		r.Mirror = to.Key()
	}
	if have != nil {
		r.Sequence = have.Selected().Sequence
	}
	if dir, err := filepath.Abs(env.WorkspaceDir(o.Workspace)); err == nil && !o.sharded() {
		r.dir, r.other = dir, otherWorkspace(s, dir, &r.Run)
	}
	r.finished = s.FinishedPlans(r.Destination)
	r.save(o.writesNothing())
	if o.recorded != nil {
		*o.recorded = true
	}
	return r
}

// otherWorkspace returns the workspace that was last used for a destination if this one was not: often it
// is a new one only because the run was started in another folder.
func otherWorkspace(s *workspace.Session, dir string, r *state.Run) string {
	if s.Env.StateDir == "" {
		return ""
	}
	last := state.LastWorkspace(s.Env.StateDir, r.Destination)
	if last == "" || last == dir || knows(dir, r) {
		return ""
	}
	if _, err := os.Stat(last); err != nil {
		return ""
	}
	return last
}

// hasRun reports whether a workspace had a run of an image set to a destination. Image sets may have workspaces of their own.
func hasRun(workspace, destination, name string) bool {
	runs, err := state.Runs(workspace)
	return err == nil && slices.ContainsFunc(runs, func(r state.Run) bool { return r.Destination == destination && r.Name == name })
}

// planned sets the name of the image set and the digest of the plan, and warns if another workspace was used for the destination.
func (r *recordedRun) planned(name string, sum digest.Digest, dry bool) {
	e := r.session.Env
	r.Name, r.Plan = name, sum
	r.again = sum != "" && r.finished[name] == sum
	if r.other != "" && hasRun(r.other, r.Destination, name) {
		e.Warnf("the workspace %s was not used for %s before; the last run used %s, which has the history and the cluster resources of earlier runs; set Options.Workspace to %s to continue with it",
			r.dir, r.Destination, r.other, r.other)
	}
	if dry || e.StateDir == "" || r.dir == "" {
		return
	}
	if err := state.SaveLastWorkspace(e.StateDir, r.Destination, r.dir); err != nil {
		e.Logger().Info("which workspace was used is not kept", "error", err)
	}
}

// knows reports whether the workspace in dir was used for the destination of a run. A run that failed
// may have changed nothing there.
func knows(dir string, r *state.Run) bool {
	runs, err := state.Runs(dir)
	return err != nil || slices.ContainsFunc(runs, func(o state.Run) bool {
		return o.Result != state.RunFailed && o.Destination == r.Destination || o.Result == state.RunUnknown && r.Mirror != "" && o.Mirror == r.Mirror
	})
}

// begin records in the audit log that a run began that may change something.
func (r *recordedRun) begin(o *Options) error {
	if o.writesNothing() {
		return nil
	}
	if err := r.session.BeginAudit("mirror", r.Destination, r.Name); err != nil {
		return err
	}
	r.Audited = true
	r.save(false) // a log that is gone later is noticed, also if this run is killed
	return nil
}

// end records how the run ended with err, and returns that with the error of the audit log, if any.
func (r *recordedRun) end(ctx context.Context, o *Options, result *Result, err error) error {
	r.Ended = time.Now().UTC().Truncate(time.Second)
	var partial *admission.PartialError
	var mirrored *copying.MirroredError
	if err == nil || errors.As(err, &mirrored) {
		r.LastSuccess = r.Ended
		if o.Config != "" {
			r.Content = r.Started
		}
	}
	switch {
	case err == nil:
		r.Result = state.RunComplete
	case errors.As(err, &partial):
		r.Result = state.RunPartial
	case ctx.Err() != nil:
		r.Result = state.RunInterrupted
	case mirrored != nil && advice.KindOf(err) == advice.Partial:
		r.Result, r.Message = state.RunPartial, redact.Text(err.Error())
	default:
		r.Result, r.Message = state.RunFailed, redact.Text(err.Error())
	}
	if result != nil && result.Report != nil {
		r.Images, r.Copied, r.Failed = result.Report.Images, result.Report.Copied, len(result.Report.Failed)
	}
	if result != nil && result.Archive != nil {
		r.Sequence = result.Archive.Sequence
	}
	r.save(o.writesNothing())
	began := r.session.AuditError() == nil
	auditResult(r.session, &r.Run, r.gates.Answers(), result)
	if auditErr := r.session.AuditError(); auditErr != nil && began {
		return errors.Join(err, auditErr)
	}
	return err
}

func (r *recordedRun) save(dry bool) {
	if dry {
		return
	}
	if err := r.session.SaveRun(r.Run); err != nil {
		r.session.Env.Logger().Warn("the run is not recorded for the status", "error", err)
	}
}

// absolute returns a destination with the absolute path of its folder, and registries unchanged.
func absolute(destination string) string {
	for _, scheme := range []string{env.ArchiveScheme, env.LayoutScheme} {
		if dir, ok := strings.CutPrefix(destination, scheme); ok {
			if abs, err := filepath.Abs(dir); err == nil {
				return scheme + abs
			}
		}
	}
	return strings.TrimRight(destination, "/")
}
