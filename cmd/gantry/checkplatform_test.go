package main

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/releasetest"
)

// TestCheckPlatform proves the updates of a mirror, and that each missing piece is
// found and named.
func TestCheckPlatform(t *testing.T) {
	t.Parallel()
	w := newPlatformWorld(t, releasetest.Small())
	cfg := w.config("imageset.yaml", `  platform:
    graph: true
    channels:
    - name: fast-4.20
      from: [4.18.1]
`)
	w.must("plan", "-c", cfg, "-o", w.path("plan.json"))
	w.must("mirror", "-c", cfg, w.docker("/ocp"))
	o := w.must("check", "--platform", w.docker("/ocp"))
	t.Log(o.stdout, o.stderr)
	o = w.must("check", "--platform", "--from", "4.18.1", "--to", "4.20.2", w.docker("/ocp"))
	t.Log(o.stdout, o.stderr)
	o = w.must("check", "--platform", "--plan", w.path("plan.json"), w.docker("/ocp"), "-o", "json")
	t.Log(o.stdout, o.stderr)
}
