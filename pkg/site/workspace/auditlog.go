package workspace

import (
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/lockfile"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/pkg/state/audit"
)

// An auditedRun is a run whose entries are in the audit log. The zero value records nothing.
type auditedRun struct {
	log         *audit.Log
	id          string
	destination string
	// err is the first error of an entry. The run continues and ends with it.
	err error
}

// BeginAudit records that a run began. If the log cannot be written, the run must not begin. verb is the
// name of the run: "mirror".
func (s *Session) BeginAudit(verb, destination, name string) error {
	s.audited = auditedRun{log: s.Workspace.Audit(), id: rand.Text()[:12], destination: destination}
	by := fmt.Sprintf("process %d on %s", os.Getpid(), lockfile.Host())
	if user := env.UserName(s.Env.Variable); user != "" {
		by = user + ", " + by
	}
	s.Audit(audit.Entry{Event: audit.RunBegan, Name: name, Subject: verb, By: by})
	return s.audited.err
}

// Audit records entries of this run: it sets their time, run and destination, and removes secrets from
// their messages. If the log cannot be written, the run ends with that error when it is done. It may be
// called by several goroutines, and does nothing without BeginAudit.
func (s *Session) Audit(entries ...audit.Entry) {
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

// AuditError returns the first error of an entry.
func (s *Session) AuditError() error {
	s.auditing.Lock()
	defer s.auditing.Unlock()
	return s.audited.err
}

// MaxAuditedImages is how many failed images of a run are listed.
const MaxAuditedImages = 1000

// An AuditResult is what Audit found. Its JSON is what gantry status --audit -o json prints.
type AuditResult struct {
	Version   int    `json:"version"`
	Workspace string `json:"workspace"`
	*audit.Result
}

// Audit verifies the audit log of a workspace, and returns its last entries, at most last; a negative
// number returns all. If the log was changed, it also returns an error of kind advice.Mismatch.
func Audit(workspace string, last int) (*AuditResult, error) {
	dir := env.WorkspaceDir(workspace)
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
