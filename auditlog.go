package gantry

import (
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/lockfile"
	"github.com/gantry-mirror/gantry/pkg/redact"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/pkg/state/audit"
	"github.com/gantry-mirror/gantry/plan"
)

// An auditedRun is a run whose entries are in the audit log. The zero value records nothing.
type auditedRun struct {
	log         *audit.Log
	id          string
	destination string
	// err is the first error of an entry. The run continues and ends with it.
	err error
}

// beginAudit records that a run began. If the log cannot be written, the run must not begin. verb is the
// name of the run: "mirror".
func (s *Session) beginAudit(verb, destination, name string) error {
	s.audited = auditedRun{log: s.Workspace.Audit(), id: rand.Text()[:12], destination: destination}
	by := fmt.Sprintf("process %d on %s", os.Getpid(), lockfile.Host())
	if user := s.env.userName(); user != "" {
		by = user + ", " + by
	}
	s.audit(audit.Entry{Event: audit.RunBegan, Name: name, Subject: verb, By: by})
	return s.audited.err
}

// audit records entries of this run: it sets their time, run and destination, and removes secrets from
// their messages. If the log cannot be written, the run ends with that error when it is done. It may be
// called by several goroutines, and does nothing without beginAudit.
func (s *Session) audit(entries ...audit.Entry) {
	a := &s.audited
	if a.log == nil || len(entries) == 0 {
		return
	}
	now := time.Now()
	for i := range entries {
		e := &entries[i]
		e.Time, e.Run, e.Destination = now, a.id, redact.Address(a.destination)
		e.Subject, e.Message = redact.Text(e.Subject), redact.Text(e.Message)
	}
	if err := a.log.Append(now, entries...); err != nil {
		s.auditing.Lock()
		defer s.auditing.Unlock()
		if a.err == nil {
			a.err = advice.Wrap(advice.Failure, err, "make room or permit writing in the workspace; without its audit log, no run begins")
		}
	}
}

// auditError returns the first error of an entry.
func (s *Session) auditError() error {
	s.auditing.Lock()
	defer s.auditing.Unlock()
	return s.audited.err
}

// maxAuditedImages is how many failed images of a run are listed.
const maxAuditedImages = 1000

// auditResult records what a run did, and its end.
func (s *Session) auditResult(r *state.Run, g *GateResult, result *MirrorResult) {
	end := audit.Entry{Event: audit.RunEnded, Name: r.Name, Digest: r.Plan.String(), Result: string(r.Result), Images: r.Images, Copied: r.Copied, Failed: r.Failed, Message: r.Message}
	var entries []audit.Entry
	if result != nil {
		entries = append(entries, auditSignatures(result.Verified)...)
	}
	if result != nil && result.Report != nil {
		end.Bytes = result.Report.BytesCopied
		entries = append(entries, auditReport(result.Report)...)
	}
	entries = append(entries, auditGate(g)...)
	s.audit(append(entries, end)...)
}

// auditSignatures returns an entry for each signer, and one for images for which the policy requires no signature.
func auditSignatures(v *VerifiedSignatures) (entries []audit.Entry) {
	if v == nil {
		return nil
	}
	for _, signed := range v.Signed {
		entries = append(entries, audit.Entry{Event: audit.Verified, Subject: v.Policy, Digest: v.Digest.String(), By: signed.Type + " " + signed.Name, Images: signed.Images, Result: "accepted"})
	}
	if v.Unsigned > 0 {
		entries = append(entries, audit.Entry{Event: audit.Verified, Subject: v.Policy, Digest: v.Digest.String(), Images: v.Unsigned, Result: "accepted without verification"})
	}
	if v.Refused > 0 {
		entries = append(entries, audit.Entry{Event: audit.Verified, Subject: v.Policy, Digest: v.Digest.String(), Images: v.Refused, Result: "refused"})
	}
	return entries
}

// auditGate returns an entry for how many images a gate accepted, and one for each that it did not.
func auditGate(g *GateResult) (entries []audit.Entry) {
	if g == nil {
		return nil
	}
	if g.Accepted > 0 {
		entries = append(entries, audit.Entry{Event: audit.Gate, By: g.Program, Images: g.Accepted, Result: "accepted"})
	}
	for i, a := range g.Answers {
		if i == maxAuditedImages {
			break // the images that are not mirrored are counted
		}
		e := audit.Entry{Event: audit.Gate, By: g.Program, Subject: a.Reference, Digest: a.Digest.String(), Result: "refused", Message: a.Reason}
		if a.Error != "" {
			e.Result, e.Message = "failed", a.Error
		}
		entries = append(entries, e)
	}
	return entries
}

// auditReport returns entries for what was published, withheld or failed.
func auditReport(r *mirror.Report) (entries []audit.Entry) {
	for _, img := range r.New {
		whole, ok := img.Publishable()
		if !ok {
			continue
		}
		entries = append(entries, audit.Entry{Event: publishedEvent(whole), Subject: nameOf(whole), Digest: img.Digest.String()})
	}
	for _, w := range r.Withheld {
		entries = append(entries, audit.Entry{Event: audit.Withheld, Subject: nameOf(w.Publishable()), Failed: len(w.Missing)})
	}
	for i, f := range r.Failed {
		if i == maxAuditedImages {
			entries = append(entries, audit.Entry{Event: audit.ImageFailed, Failed: len(r.Failed) - i, Message: "more images failed, which are not listed"})
			break
		}
		entries = append(entries, audit.Entry{Event: audit.ImageFailed, Subject: f.Source, Message: f.Reason})
	}
	return entries
}

func publishedEvent(p plan.Publishable) audit.Event {
	if p.Release != "" {
		return audit.ReleasePublished
	}
	return audit.CatalogPublished
}

func nameOf(p plan.Publishable) string {
	if p.Release != "" {
		return p.Release
	}
	return p.Catalog
}

// An AuditResult is what Audit found. Its JSON is what gantry status --audit -o json prints.
type AuditResult struct {
	Version   int    `json:"version"`
	Workspace string `json:"workspace"`
	*audit.Result
}

// Audit verifies the audit log of a workspace, and returns its last entries, at most last; a negative
// number returns all. If the log was changed, it also returns an error of kind advice.Mismatch.
func Audit(workspace string, last int) (*AuditResult, error) {
	dir := workspaceDir(workspace)
	if _, err := Status(workspace); err != nil {
		return nil, err
	}
	r, err := state.ReadAudit(dir, last)
	if err != nil {
		return nil, err
	}
	result := &AuditResult{Version: 1, Workspace: dir, Result: r}
	if len(r.Problems) > 0 {
		return result, advice.New(advice.Mismatch, "compare the log with a copy of it, such as a backup or what a log server received", "the audit log of %s was changed outside of Gantry", dir)
	}
	return result, nil
}
