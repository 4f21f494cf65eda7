package removal

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/mirror/prune"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/plan/cluster"
)

// A ForgottenSet is an image set that was given up: what only it needed is deleted, and then its records.
type ForgottenSet struct {
	Name string `json:"name"`
	// LastRun is when it was last mirrored, and By the user and host of that run.
	LastRun time.Time `json:"lastRun"`
	By      string    `json:"by"`
	// Done reports whether its records were deleted.
	Done bool `json:"done,omitempty"`
}

// recentRun is how long after its last run an image set is probably still in use.
const recentRun = 30 * 24 * time.Hour

// unknownSet returns the error for an image set that the mirror has no record of.
func unknownSet(t *site.RegistryDestination, name string, known map[string]bool) error {
	return env.InputHint("use one of: "+strings.Join(slices.Sorted(maps.Keys(known)), ", "), "the mirror %s has no image set %q", t, name)
}

// findForgotten adds the forgotten image set to the names of the known ones if only the workspace knows it: another run gave it up when
// the mirror had no other, or the mirror lost its records.
func (r *recordedRevisions) findForgotten(s *workspace.Session, names map[string]bool) error {
	if r.forget == "" || names[r.forget] || s == nil {
		return nil
	}
	known, err := s.RecordNames(r.to.Key())
	if r.onlyHere = slices.Contains(known, r.forget); r.onlyHere {
		names[r.forget] = true
	}
	return err
}

// checkForgotten returns an error if the mirror publishes a catalog of a forgotten image set that no record
// lists: what it names is unknown.
func (r *recordedRevisions) checkForgotten() error {
	for _, at := range r.published {
		if recorded, _ := r.all.Has(at); !recorded {
			return unlistedCatalog(at)
		}
	}
	return nil
}

// forgotten returns the image set that is given up, nil if there is none, and warns if it was mirrored recently.
func (r *recordedRevisions) forgotten(now time.Time) *ForgottenSet {
	for i := range r.sets {
		if !r.sets[i].forgotten {
			continue
		}
		revision := r.sets[i].current()
		if age := now.Sub(revision.LastRun); age < recentRun {
			r.env.Warnf("the image set %q was mirrored by %s %s ago (%s); if it is still in use, its next run mirrors everything again", revision.Name, site.Owner(revision), ageText(age), revision.LastRun.Format(time.RFC3339))
		}
		return &ForgottenSet{Name: revision.Name, LastRun: revision.LastRun, By: site.Owner(revision)}
	}
	if r.onlyHere {
		return &ForgottenSet{Name: r.forget}
	}
	return nil
}

// ageText returns a time span in days, hours or minutes.
func ageText(d time.Duration) string {
	switch d = max(d, 0); {
	case d >= 24*time.Hour:
		return env.Number(int(d/(24*time.Hour)), "day", "days")
	case d >= time.Hour:
		return env.Number(int(d/time.Hour), "hour", "hours")
	}
	return env.Number(int(d/time.Minute), "minute", "minutes")
}

// checkKept returns an error if a catalog or release stays which clusters see, and which no image set needs:
// it would name what is deleted.
func (r *recordedRevisions) checkKept(p *prune.DeletionPlan) error {
	for _, k := range p.Kept {
		if k.Published {
			return advice.New(advice.Failure, "delete what refers to it, and run again", "nothing was deleted: %s@%s stays, which is a catalog or release that names other images: %s", k.Repository, k.Digest, k.Reason)
		}
	}
	return nil
}

// dropForgotten removes the forgotten image set from the workspace.
func (r *recordedRevisions) dropForgotten(s *workspace.Session) error {
	sets, err := site.RecordedSets(s, r.to)
	if err != nil {
		return err
	}
	delete(sets, r.forget)
	if err := s.RemoveRecord(r.to.Key(), r.forget); err != nil {
		return err
	}
	return site.SaveRecordedSets(s, r.to, sets)
}

// dropGone removes the records from the workspace whose image sets another run forgot, and the one that only the workspace
// knows and that is forgotten now. It writes the cluster resources again if there were any.
func (r *recordedRevisions) dropGone(ctx context.Context, s *workspace.Session, forgotten *ForgottenSet) (*cluster.ResourceFiles, error) {
	t := r.to
	before, err := s.RecordNames(t.Key())
	if err != nil || len(before) == 0 {
		return nil, err
	}
	if err := site.SyncRecords(ctx, s, t); err != nil {
		return nil, err
	}
	if r.onlyHere {
		if err := r.dropForgotten(s); err != nil {
			return nil, err
		}
		forgotten.Done = true
	}
	after, err := s.RecordNames(t.Key())
	if err != nil || !slices.ContainsFunc(before, func(name string) bool { return !slices.Contains(after, name) }) {
		return nil, err
	}
	return knownResources(ctx, s, t, true)
}

// checkSaved returns an error if a saved plan forgets another image set than the options.
func (o *PruneOptions) checkSaved(forgets string) error {
	if o.Forget != "" && o.Forget != forgets {
		return advice.Wrap(advice.Input, fmt.Errorf("the plan %s was not made with Options.Forget %q", o.Plan, o.Forget), "leave Options.Forget out, or make another plan")
	}
	return nil
}
