package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/state/audit"
)

// auditFile is the audit log, and auditHeadFile its head.
const (
	auditFile     = "audit.ndjson"
	auditHeadFile = "audit-head.json"
)

// Audit returns the audit log of the workspace. A head that is damaged counts as the one of an empty log:
// ReadAudit returns an error then.
func (w *Workspace) Audit() *audit.Log {
	head, _ := w.auditHead() // as documented
	log := audit.New(w.disk.Root, auditFile, head, func(head audit.Head) error {
		text, err := json.Marshal(head)
		if err != nil {
			return err
		}
		return w.keepText(auditHeadFile, append(text, '\n'))
	})
	if head.Sequence == 0 && w.hadAudit() {
		log.Removed()
	}
	return log
}

// hadAudit reports whether a run that the workspace knows has entries in the audit log.
func (w *Workspace) hadAudit() bool {
	runs, err := w.readRuns()
	return err == nil && slices.ContainsFunc(runs, func(r Run) bool { return r.Audited })
}

func (w *Workspace) auditHead() (head audit.Head, err error) {
	_, err = w.readJSON(auditHeadFile, &head)
	if err != nil {
		head = audit.Head{}
	}
	return head, err
}

// ReadAudit verifies the audit log of the workspace in dir, and returns its last entries, at most last. It
// does not lock the workspace.
func ReadAudit(dir string, last int) (result *audit.Result, err error) {
	err = readUnlocked(dir, func(w *Workspace) error {
		head, headErr := w.auditHead() // before the log: a run may append to it
		f, _, err := regular.Open(w.disk.Root, auditFile)
		if errors.Is(err, fs.ErrNotExist) {
			result = &audit.Result{Last: []audit.Entry{}}
			if head.Sequence > 0 {
				result.Problems = []string{fmt.Sprintf("%s is missing, with %d entries", auditFile, head.Sequence)}
			} else if w.hadAudit() {
				result.Problems = []string{fmt.Sprintf("%s and %s are missing, and runs wrote to them", auditFile, auditHeadFile)}
			}
		} else if err == nil {
			result, err = audit.Verify(f, head, last)
			err = errors.Join(err, f.Close())
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if errors.Is(headErr, errAltered) {
			result.Problems = append(result.Problems, headErr.Error())
			return nil
		}
		return headErr
	})
	return result, err
}
