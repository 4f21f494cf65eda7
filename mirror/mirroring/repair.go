package mirroring

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/mirror/copying"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/pkg/site/keys"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/pkg/state/audit"
)

// repair writes the archive that a repair request asks for.
func repair(ctx context.Context, e *env.Env, o Options) (done *Result, failure error) {
	opts := airgap.RepairOptions{
		Dir:     strings.TrimPrefix(o.Destination, env.ArchiveScheme),
		Archive: archive.Options{Strict: o.StrictArchive, VolumeSize: o.VolumeSize, Encrypt: o.EncryptTo, Sign: keys.SignWith(o.SigningKey), Log: e.Logger()},
		Fatal:   site.Fatal,
	}
	request, err := airgap.ReadRequest(o.Repair, o.EncryptTo != nil)
	if err != nil {
		return nil, err
	}
	if err := o.ReleaseTrust.Check(); err != nil {
		return nil, err
	}
	gate, err := copying.WaitForWindow(ctx, e, o.windows())
	if err != nil {
		return nil, err
	}
	if gate != nil {
		opts.Wait = gate.Wait
	}
	s, err := workspace.OpenSession(e, env.WorkspaceDir(o.Workspace))
	if err != nil {
		return nil, err
	}
	defer s.Release()
	run := beginRepair(s, &o, request)
	if err := s.BeginAudit("repair", run.Destination, run.Name); err != nil {
		return nil, run.endRepair(ctx, nil, err)
	}
	caller := ctx
	defer func() { failure = run.endRepair(caller, done, failure) }()
	if opts.Streams, err = env.Streams(&e.Registries); err != nil {
		return nil, err
	}
	opts.Watch = func(done func() int64) func() {
		return env.Show(e.Observer, "repairing", func() progress.Reading {
			return progress.Reading{Images: int64(len(request.Content)), ImagesDone: done()}
		})
	}
	repaired, err := airgap.Repair(ctx, s.Workspace, request, s.Sources.Origin, opts)
	if missed, ok := errors.AsType[*airgap.RepairError](err); ok {
		for _, m := range missed.Failed {
			e.Warnf("not written: %s\n    %v", m.Digest, m.Err)
		}
	}
	if err != nil {
		return nil, err
	}
	return &Result{Version: 1, Destination: o.Destination, Repaired: repaired}, nil
}

// beginRepair records that a repair began.
func beginRepair(s *workspace.Session, o *Options, request *state.RepairRequest) *recordedRun {
	r := &recordedRun{session: s, Run: state.Run{
		Destination: absolute(o.Destination), Name: request.Name, Started: time.Now().UTC().Truncate(time.Second), Result: state.RunStarted,
		Repair: true, Sequence: request.Sequence, Images: len(request.Content),
	}}
	r.save(false)
	if o.recorded != nil {
		*o.recorded = true
	}
	return r
}

// endRepair records how a repair ended with err, and returns that with the error of the audit log, if any.
func (r *recordedRun) endRepair(ctx context.Context, result *Result, err error) error {
	r.Ended = time.Now().UTC().Truncate(time.Second)
	end := audit.Entry{Event: audit.RunEnded, Name: r.Name}
	var missed *airgap.RepairError
	switch {
	case err == nil:
		r.Result, r.LastSuccess, r.Copied = state.RunComplete, r.Ended, result.Repaired.Content
		if result.Repaired.AlreadyPresent {
			r.Copied = 0
		}
		end.Bytes = result.Repaired.Bytes
	case ctx.Err() != nil:
		r.Result = state.RunInterrupted
	default:
		r.Result, r.Message = state.RunFailed, redact.Text(err.Error())
		end.Message = err.Error()
		if errors.As(err, &missed) {
			r.Failed = len(missed.Failed)
		}
	}
	end.Result = string(r.Result)
	r.save(false)
	began := r.session.AuditError() == nil
	r.session.Audit(end)
	if auditErr := r.session.AuditError(); auditErr != nil && began {
		return errors.Join(err, auditErr)
	}
	return err
}

// foundMissing keeps what RepairMissing found before the copy. With selection.OnErrorPackage there are two runs, and
// the first one found everything.
func (r *Result) foundMissing(missing []mirror.MissingImage) {
	if r.MissingBefore == nil {
		r.MissingBefore = append([]mirror.MissingImage{}, missing...)
	}
}
