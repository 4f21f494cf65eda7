package gantry

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/redact"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// WorkspaceStatus lists what a workspace knows. Its JSON is what gantry status -o json prints.
type WorkspaceStatus struct {
	Version   int    `json:"version"`
	Workspace string `json:"workspace"`
	// Runs are the last runs, by destination and configuration.
	Runs []state.Run `json:"runs"`
}

// Status returns the mirrors and archives that a workspace knows, and the last run of each. It reads
// nothing but the workspace, and can be called during a run.
func Status(workspace string) (*WorkspaceStatus, error) {
	dir := workspaceDir(workspace)
	runs, err := state.Runs(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, inputHint("name it with Options.Workspace; a run creates it", "there is no workspace %s", dir)
	}
	if err != nil {
		return nil, err
	}
	s := &WorkspaceStatus{Version: 1, Workspace: dir, Runs: runs}
	if runs == nil {
		s.Runs = []state.Run{}
	}
	return s, nil
}

// A recordedRun is a run whose beginning and end are saved in the workspace. If that fails, it is
// logged: nothing but the status depends on it.
type recordedRun struct {
	session *Session
	gates   *gates // of the run; nil without one
	state.Run
	dir   string // of the workspace, absolute
	other string // the workspace that was used for the destination before, if not this one
}

// beginRun records that a run began. A dry run is not recorded.
func (s *Session) beginRun(o *MirrorOptions, t Destination, have *archive.Archive) *recordedRun {
	r := &recordedRun{session: s, Run: state.Run{Destination: absolute(o.Destination), Started: time.Now().UTC().Truncate(time.Second), Result: state.RunStarted}}
	if o.Config != "" {
		r.Name = planName(o.Name, o.Config)
	}
	if to := t.Registry(); to != nil {
		r.Mirror = to.Key()
	}
	if have != nil {
		r.Sequence = have.Selected().Sequence
	}
	if dir, err := filepath.Abs(workspaceDir(o.Workspace)); err == nil && !o.sharded() {
		r.dir, r.other = dir, s.otherWorkspace(dir, &r.Run)
	}
	r.save(o.writesNothing())
	if o.recorded != nil {
		*o.recorded = true
	}
	return r
}

// otherWorkspace returns the workspace that was last used for a destination if this one was not: often it
// is a new one only because the run was started in another folder.
func (s *Session) otherWorkspace(dir string, r *state.Run) string {
	if s.env.StateDir == "" {
		return ""
	}
	last := state.LastWorkspace(s.env.StateDir, r.Destination)
	if last == "" || last == dir || s.knows(dir, r) {
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
	e := r.session.env
	r.Name, r.Plan = name, sum
	if r.other != "" && hasRun(r.other, r.Destination, name) {
		e.warn("the workspace %s was not used for %s before; the last run used %s, which has the history and the cluster resources of earlier runs; set Options.Workspace to %s to continue with it",
			r.dir, r.Destination, r.other, r.other)
	}
	if dry || e.StateDir == "" || r.dir == "" {
		return
	}
	if err := state.SaveLastWorkspace(e.StateDir, r.Destination, r.dir); err != nil {
		e.logger().Info("which workspace was used is not kept", "error", err)
	}
}

// knows reports whether the workspace in dir was used for the destination of a run. A run that failed
// may have changed nothing there.
func (s *Session) knows(dir string, r *state.Run) bool {
	runs, err := state.Runs(dir)
	return err != nil || slices.ContainsFunc(runs, func(o state.Run) bool {
		return o.Result != state.RunFailed && o.Destination == r.Destination || o.Result == state.RunUnknown && r.Mirror != "" && o.Mirror == r.Mirror
	})
}

// begin records in the audit log that a run began that may change something.
func (r *recordedRun) begin(o *MirrorOptions) error {
	if o.writesNothing() {
		return nil
	}
	if err := r.session.beginAudit("mirror", r.Destination, r.Name); err != nil {
		return err
	}
	r.Audited = true
	r.save(false) // a log that is gone later is noticed, also if this run is killed
	return nil
}

// end records how the run ended with err, and returns that with the error of the audit log, if any.
func (r *recordedRun) end(ctx context.Context, o *MirrorOptions, result *MirrorResult, err error) error {
	r.Ended = time.Now().UTC().Truncate(time.Second)
	var partial *PartialError
	var mirrored *mirroredError
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
	began := r.session.auditError() == nil
	r.session.auditResult(&r.Run, r.gates.answers(), result)
	if auditErr := r.session.auditError(); auditErr != nil && began {
		return errors.Join(err, auditErr)
	}
	return err
}

func (r *recordedRun) save(dry bool) {
	if dry {
		return
	}
	if err := r.session.SaveRun(r.Run); err != nil {
		r.session.env.logger().Warn("the run is not recorded for the status", "error", err)
	}
}

// absolute returns a destination with the absolute path of its folder, and registries unchanged.
func absolute(destination string) string {
	for _, scheme := range []string{ArchiveScheme, LayoutScheme} {
		if dir, ok := strings.CutPrefix(destination, scheme); ok {
			if abs, err := filepath.Abs(dir); err == nil {
				return scheme + abs
			}
		}
	}
	return strings.TrimRight(destination, "/")
}
