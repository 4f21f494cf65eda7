package removal

import (
	"context"
	"errors"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/mirror/prune"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/pkg/state/audit"
)

// auditDeletions records what a run of prune or delete deleted, and how it ended. If the log cannot be
// written, it returns the error together with err.
func auditDeletions(ctx context.Context, s *workspace.Session, result *PruneResult, err error) error {
	began := s.AuditError() == nil
	end := audit.Entry{Event: audit.RunEnded, Result: string(state.RunComplete)}
	switch {
	case err == nil:
	case advice.KindOf(err) == advice.Partial && !result.Refused:
		end.Result = string(state.RunPartial)
	case ctx.Err() != nil:
		end.Result = string(state.RunInterrupted)
	default:
		end.Result, end.Message = string(state.RunFailed), err.Error()
	}
	var entries []audit.Entry
	if result != nil && result.Deleted != nil {
		end.Images, end.Bytes, end.Failed = result.Deleted.Manifests, result.Deleted.Bytes, len(result.Deleted.Failed)
		entries = deletionEntries(result.Plan, result.Deleted, end.Result)
	}
	s.Audit(append(entries, end)...)
	if auditErr := s.AuditError(); auditErr != nil && began {
		return errors.Join(err, auditErr)
	}
	return err
}

// deletionEntries returns an entry for each image or tag that was deleted, and one for those beyond
// workspace.MaxAuditedImages. If the run was interrupted, some of them may still be in the mirror.
func deletionEntries(p *prune.DeletionPlan, report *prune.Report, how string) (entries []audit.Entry) {
	failed := map[string]bool{}
	for _, f := range report.Failed {
		failed[f.Repository+":"+f.Tag+"@"+string(f.Digest)] = true
		entries = append(entries, audit.Entry{Event: audit.Deleted, Name: f.LastWanted.ImageSet, Subject: f.Repository + ":" + f.Tag, Digest: string(f.Digest), Result: "failed", Message: f.Message})
	}
	for i := range p.Manifests {
		m := &p.Manifests[i]
		if m.Step > 1 && len(m.Tags) == 0 || failed[m.Repository+":@"+string(m.Digest)] {
			continue
		}
		subject := m.Repository
		if len(m.Tags) > 0 {
			subject += ":" + m.Tags[0]
		}
		entries = append(entries, audit.Entry{Event: audit.Deleted, Name: m.LastWanted.ImageSet, Subject: subject, Digest: string(m.Digest), Bytes: m.Bytes, Result: how})
	}
	for _, t := range p.Tags {
		if !failed[t.Repository+":"+t.Tag+"@"+string(t.Digest)] {
			entries = append(entries, audit.Entry{Event: audit.Deleted, Name: t.LastWanted.ImageSet, Subject: t.Repository + ":" + t.Tag, Result: how})
		}
	}
	if n := len(entries) - workspace.MaxAuditedImages; n > 0 {
		entries = append(entries[:workspace.MaxAuditedImages], audit.Entry{Event: audit.Deleted, Images: n, Message: "more images were deleted, which are not listed", Result: how})
	}
	return entries
}
