package state

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// runsFile lists the last run of each destination and image set.
const runsFile = "runs.json"

// A RunResult is how a run ended.
type RunResult string

// The results of runs.
const (
	// RunStarted is the result of a run that has not ended: it is running, or it was killed.
	RunStarted     RunResult = "started"
	RunComplete    RunResult = "complete"
	RunPartial     RunResult = "partial" // some content is unavailable, the rest is consistent
	RunFailed      RunResult = "failed"
	RunInterrupted RunResult = "interrupted"
	// RunUnknown is the result of runs of versions that did not record it.
	RunUnknown RunResult = "unknown"
)

// A Run is the last run of an image set to a destination.
type Run struct {
	// Destination is docker://HOST[/PREFIX], or file:// or oci:// with an absolute path. It is empty if
	// only Mirror is known.
	Destination string `json:"destination,omitempty"`
	// Mirror is the name of a registry in the workspace, as for Records.
	Mirror string `json:"mirror,omitempty"`
	// Name is the name of the image set. It is empty if the run ended before it was known.
	Name    string    `json:"name"`
	Started time.Time `json:"started,omitzero"`
	// Ended is zero if the run has not ended, or was killed.
	Ended  time.Time `json:"ended,omitzero"`
	Result RunResult `json:"result"`
	// Images is how many images were requested, Copied how many of them were copied and Failed how many
	// are unavailable.
	Images int `json:"images,omitempty"`
	Copied int `json:"copied,omitempty"`
	Failed int `json:"failed,omitempty"`
	// Sequence is the number of the archive that was written or read.
	Sequence int `json:"sequence,omitempty"`
	// Repair means that the run wrote the repair of an archive: Images, Copied and Failed then count
	// manifests and blobs, and Sequence is the one of the repaired archive.
	Repair bool `json:"repair,omitempty"`
	// Plan is the digest of the plan. It is empty if the run ended before it was known, and for runs of
	// earlier versions.
	Plan digest.Digest `json:"plan,omitempty"`
	// Message is the error of the run.
	Message string `json:"message,omitempty"`
	// LastSuccess is when a run was complete last, and Content when the sources of what it mirrored were
	// read. They are zero if unknown.
	LastSuccess time.Time `json:"lastSuccess,omitzero"`
	Content     time.Time `json:"content,omitzero"`
	// Audited means that this run or an earlier one of the destination has entries in the audit log.
	Audited bool `json:"audited,omitempty"`
}

// SaveRun replaces the last run of a destination and an image set, or the last repair, and keeps when one was complete. If the list of runs is damaged, a
// new one is begun: nothing but the status depends on it.
func (w *Workspace) SaveRun(r Run) error {
	all, _ := w.readRuns() // as documented
	all = slices.DeleteFunc(all, func(o Run) bool {
		same := o.Destination == r.Destination && o.Repair == r.Repair && (o.Name == r.Name || o.Name == "")
		if same {
			r.keepSuccess(o)
			r.Audited = r.Audited || o.Audited
		}
		return same
	})
	all = append(all, r)
	elements.Sort(all, func(a, b Run) int {
		return strings.Compare(a.Destination+"\x00"+a.Name, b.Destination+"\x00"+b.Name)
	})
	return w.saveJSON(runsFile, all)
}

// keepSuccess keeps from an earlier run when one was complete.
func (r *Run) keepSuccess(before Run) {
	if before.LastSuccess.IsZero() && before.Result == RunComplete {
		before.LastSuccess = before.Ended // of a version that did not record it
	}
	if r.LastSuccess.IsZero() {
		r.LastSuccess = before.LastSuccess
	}
	if r.Content.IsZero() {
		r.Content = before.Content
	}
}

// Runs returns the last runs that the workspace in dir knows, by destination and image set. It does not
// lock the workspace, so that it can be called during a run. Mirrors and archives of versions that did
// not record runs have the result RunUnknown.
func Runs(dir string) (runs []Run, err error) {
	err = readUnlocked(dir, func(w *Workspace) (err error) {
		if runs, err = w.readRuns(); err != nil {
			return err
		}
		more, err := w.unrecorded(runs)
		runs = append(runs, more...)
		return err
	})
	return runs, err
}

// FinishedPlans returns the plans of the last runs to a destination that were complete or partial, by image set. It is
// empty if the list of runs cannot be read.
func (w *Workspace) FinishedPlans(destination string) map[string]digest.Digest {
	runs, _ := w.readRuns() // as documented
	plans := map[string]digest.Digest{}
	for _, r := range runs {
		if r.Destination == destination && !r.Repair && (r.Result == RunComplete || r.Result == RunPartial) {
			plans[r.Name] = r.Plan
		}
	}
	return plans
}

func (w *Workspace) readRuns() (runs []Run, err error) {
	_, err = w.readJSON(runsFile, &runs)
	return runs, err
}

// unrecorded returns the mirrors and archives of the workspace without a recorded run.
func (w *Workspace) unrecorded(runs []Run) (more []Run, err error) {
	mirrors, err := fs.Glob(w.disk.Root.FS(), "mirrors/*.json")
	if err != nil {
		return nil, err
	}
	for _, file := range mirrors {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if !slices.ContainsFunc(runs, func(r Run) bool { return r.Mirror == name }) {
			more = append(more, Run{Mirror: name, Result: RunUnknown})
		}
	}
	histories, err := fs.Glob(w.disk.Root.FS(), "archives/*/history.json")
	if err != nil {
		return nil, err
	}
	for _, file := range histories {
		name := filepath.Base(filepath.Dir(file))
		exports, err := w.Exports(name)
		if err != nil {
			return nil, err
		}
		last := map[string]Export{}
		for _, e := range exports {
			last[e.Dir] = e
		}
		for _, e := range exports {
			destination := "file://" + e.Dir
			recorded := slices.ContainsFunc(runs, func(r Run) bool { return r.Destination == destination && r.Name == name })
			if last[e.Dir].Sequence == e.Sequence && !recorded {
				more = append(more, Run{Destination: destination, Name: name, Started: e.Date, Result: RunUnknown, Sequence: e.Sequence})
			}
		}
	}
	return more, nil
}
