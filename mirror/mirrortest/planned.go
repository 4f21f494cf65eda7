package mirrortest

import (
	"context"
	"strings"

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
	o := s.PlanOptions(config)
	for _, c := range change {
		c(&o)
	}
	return must(s, "plan", func(ctx context.Context) (*planning.Result, error) { return planning.Make(ctx, o) }).Plan
}

// WrittenPlan plans a configuration and writes the plan to a file in the folder. It returns its path.
func (s *Site) WrittenPlan(name, config string, change ...func(*planning.Options)) string {
	s.T.Helper()
	var b strings.Builder
	if err := s.Planned(config, change...).Write(&b); err != nil {
		s.T.Fatal(err)
	}
	return s.Write(name, b.String())
}
