package mirrortest

import (
	"strings"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// PlanOptions returns the options of a plan of a configuration, in the workspace.
func (s *Site) PlanOptions(config string) planning.Options {
	return planning.Options{Env: s.Env, Selection: selection.Selection{Config: config}, Workspace: s.Workspace()}
}

// Planned plans a configuration. It must succeed.
func (s *Site) Planned(config string, change ...func(*planning.Options)) *plan.Plan {
	s.T.Helper()
	return must(s, "plan", planning.Make, s.PlanOptions(config), change).Plan
}

// WrittenPlan plans a configuration and writes the plan to a file in the folder. It returns its path.
func (s *Site) WrittenPlan(name, config string, change ...func(*planning.Options)) string {
	s.T.Helper()
	return s.writePlan(name, s.Planned(config, change...))
}

func (s *Site) writePlan(name string, p *plan.Plan) string {
	s.T.Helper()
	var b strings.Builder
	fail.On(s.T, p.Write(&b))
	return s.Write(name, b.String())
}
