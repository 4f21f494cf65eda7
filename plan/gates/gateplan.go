package gates

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state/audit"
	"github.com/gantry-mirror/gantry/plan/gates/gate"
)

// PassPlanGate asks the gate for plans about a plan, whose digest is sum. It returns an error if the gate refuses it.
func PassPlanGate(ctx context.Context, s *workspace.Session, g *Programs, p *plan.Plan, sum digest.Digest) error {
	if g == nil || g.plan == nil {
		return nil
	}
	s.Env.Noticef("asking %s about the plan", g.plan.Path())
	text, w := io.Pipe()
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		_ = w.CloseWithError(p.Write(w)) // the program need not read all of it
	}()
	answer, err := g.plan.Ask(ctx, gate.Question{Subject: sum.String(), Variables: []string{"GANTRY_GATE=plan"}, Input: text})
	_ = text.Close() // it ends the writer
	<-wrote
	auditPlanGate(ctx, s, g.plan.Path(), sum, answer, err)
	var failed *gate.FailedError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &failed):
		return fmt.Errorf("Options.GatePlan: the gate could not decide about the plan: %w", err)
	case err != nil:
		return fmt.Errorf("Options.GatePlan: %w", err)
	case !answer.Accepted && answer.Reason == "":
		return advice.New(advice.Mismatch, "", "the gate %s refuses the plan %s", g.plan.Path(), sum)
	case !answer.Accepted:
		return advice.New(advice.Mismatch, "", "the gate %s refuses the plan %s: %s", g.plan.Path(), sum, answer.Reason)
	}
	return nil
}

// auditPlanGate records what a gate answered about a plan. Without an audited run, such as in gantry plan, it does
// nothing.
func auditPlanGate(ctx context.Context, s *workspace.Session, program string, sum digest.Digest, answer gate.Answer, err error) {
	entry := audit.Entry{Event: audit.Gate, By: program, Subject: "plan", Digest: sum.String(), Result: "accepted", Message: answer.Reason}
	switch {
	case ctx.Err() != nil:
		return // it was not answered
	case err != nil:
		entry.Result, entry.Message = "failed", err.Error()
	case !answer.Accepted:
		entry.Result = "refused"
	}
	s.Audit(entry)
}
