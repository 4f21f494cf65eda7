package mirrortest

import (
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
)

// Record writes a revision of an image set to the records of the mirror for each plan, a day after the other. Nothing
// else of the plans is mirrored.
func (s *Site) Record(prefix, name string, plans ...*plan.Plan) {
	s.T.Helper()
	to, err := site.OpenDestination(s.Env, s.Docker(prefix), site.DestinationOptions{})
	fail.On(s.T, err)
	session, err := workspace.OpenSession(s.Env, s.T.TempDir())
	fail.On(s.T, err)
	defer session.Release()
	t := to.Registry()
	var before *setrecord.Revision
	for i, p := range plans {
		names, err := t.Repositories(p)
		fail.On(s.T, err)
		record := mirror.NewRecord(p, names, &mirror.Report{}, nil)
		revision := setrecord.Revision{Name: name, LastRun: time.Date(2026, 11, 1+i, 2, 0, 0, 0, time.UTC), From: setrecord.FromPlan, Content: site.ContentOf(p)}
		if before, err = setrecord.Write(s.T.Context(), t.ImageSets(), session.Sources.Cache, revision, before, &record, p.Write); err != nil {
			s.T.Fatal(err)
		}
	}
}
