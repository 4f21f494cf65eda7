package mirroring

import (
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/mirror/site"
	"github.com/gantry-mirror/gantry/pkg/lockfile"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
	"github.com/gantry-mirror/gantry/pkg/workspace"
	"github.com/gantry-mirror/gantry/plan"
)

// describeRun returns the record of a run without its content: who, when by the clock of the registry, which is the
// same for all hosts, and from what.
func describeRun(s *workspace.Session, t *site.RegistryDestination, o *Options, p *plan.Plan, report *mirror.Report) setrecord.Revision {
	run := setrecord.Revision{
		Name: p.Name, LastRun: t.Now().UTC().Truncate(time.Second), Version: strings.TrimPrefix(s.Env.UserAgent, "gantry/"),
		From: setrecord.FromConfiguration, Configuration: o.configuration, MaxNestedPaths: t.MaxNestedPaths, Content: site.ContentOf(p),
	}
	run.User, run.Host = setrecord.Visible(s.Env.UserName()), setrecord.Visible(lockfile.Host())
	switch {
	case len(o.From) > 0:
		run.From, run.Configuration = setrecord.FromArchive, ""
	case o.Plan != "":
		run.From = setrecord.FromPlan
	}
	run.Content.Missing, run.Content.Withheld = len(report.Failed), len(report.Withheld)
	return run
}
