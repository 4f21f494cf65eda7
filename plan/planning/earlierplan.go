package planning

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/plan/selection"
	"github.com/gantry-mirror/gantry/plan/signing"
)

// LastOutline returns the outline of the last plan of an image set in the workspace; nil if there is none that can be read.
func LastOutline(s *workspace.Session, name string) *plan.Outline {
	last, _ := earlierPlan(s, name)
	if last == nil {
		return nil
	}
	return last.Outline()
}

// earlierPlan returns the last plan of an image set in the workspace, and when it was saved; nil if there is none
// that can be read.
func earlierPlan(s *workspace.Session, name string) (*plan.Plan, time.Time) {
	f, err := s.OpenPlan(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, time.Time{}
	}
	var p *plan.Plan
	var saved time.Time
	if err == nil {
		p, saved, err = readSavedPlan(f)
	}
	if err != nil {
		s.Env.Logger().Info("all signatures are requested again, because the last plan cannot be read", "plan", name, "error", err)
	}
	return p, saved
}

// earlierPlans returns the outline of the last plan in the workspace, if a page compares with it, and the notes of this plan
// and of the one in Options.Lock.
func earlierPlans(s *workspace.Session, o *Options) (before *plan.Outline, notes []string) {
	if last, _ := earlierPlan(s, selection.PlanName(o.Name, o.Config)); last != nil {
		notes = last.Notes
		if o.Page {
			before = last.Outline()
		}
	}
	if last := signing.KnownPlan(o.Lock); last != nil { // otherwise it is replaced
		notes = append(notes, last.Notes...)
	}
	return before, notes
}

// newNotes returns the notes of a plan that are not known.
func newNotes(p *plan.Plan, known []string) []string {
	return slices.DeleteFunc(slices.Clone(p.Notes), func(note string) bool { return slices.Contains(known, note) })
}

// readSavedPlan reads and closes the file of a plan.
func readSavedPlan(f fs.File) (*plan.Plan, time.Time, error) {
	p, err := plan.Read(f)
	info, statErr := f.Stat()
	if err = errors.Join(err, statErr, f.Close()); err != nil {
		return nil, time.Time{}, err
	}
	return p, info.ModTime(), nil
}
