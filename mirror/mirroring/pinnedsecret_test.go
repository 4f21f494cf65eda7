package mirroring

import (
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// TestPinnedSecret checks that a configuration with a password is not written again.
func TestPinnedSecret(t *testing.T) {
	t.Parallel()
	for user, want := range map[string]int{"": 2, "ann:hunter2@": 0} {
		dir := filepath.Join(t.TempDir(), "workspace")
		s, err := workspace.OpenSession(&env.Env{Home: t.TempDir()}, dir)
		fail.On(t, err)
		fail.On(t, s.UseLayout(state.OCMirrorLayout, true))
		c := &imageset.Config{Mirror: imageset.Mirror{Helm: &imageset.Helm{Repositories: []imageset.HelmRepository{{Name: "a", URL: "https://" + user + "charts.example.com"}}}}}
		fail.On(t, savePinned(s, c, &plan.Plan{}, "_pinned_2026-11-30T00:00:00Z.yaml"))
		fail.On(t, s.Close())
		files, err := filepath.Glob(filepath.Join(dir, "working-dir", "*_pinned_*.yaml"))
		fail.On(t, err)
		fail.Diff(t, want, len(files))
	}
}
