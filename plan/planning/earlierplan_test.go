package planning

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// TestEarlierPlan reads the last plan of a workspace. One that cannot be read is as good as none.
func TestEarlierPlan(t *testing.T) {
	t.Parallel()
	ws, err := state.Open(t.TempDir())
	fail.On(t, err)
	s := &workspace.Session{Workspace: ws, Env: &env.Env{}}
	defer s.Release()
	if p, _ := earlierPlan(s, "app"); p != nil {
		t.Errorf("an empty workspace has %v", p)
	}
	saved := plan.Plan{Kind: plan.Kind, Version: plan.Version, Name: "app"}
	other := func(w io.Writer) error { _, err := io.WriteString(w, `{"kind":"GantryPlan","version":99}`); return err }
	fail.On(t, errors.Join(s.SavePlan("app", saved.Write), s.SavePlan("newer", other)))
	if p, at := earlierPlan(s, "app"); p == nil || p.Name != "app" || time.Since(at).Abs() > time.Hour {
		t.Errorf("the plan is %v of %v", p, at)
	}
	if p, at := earlierPlan(s, "newer"); p != nil || !at.IsZero() {
		t.Errorf("an unknown version is read: %v of %v", p, at)
	}
}
