package main

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/releasetest"
)

func TestPlatform(t *testing.T) {
	t.Parallel()
	w := newPlatformWorld(t, releasetest.Small())
	cfg := w.config("imageset.yaml", `  platform:
    graph: true
    kubeVirtContainer: true
    channels:
    - name: fast-4.20
      from: [4.18.1]
`)
	o := w.must("plan", "-c", cfg, "-o", w.path("plan.json"))
	t.Log(o.stdout, o.stderr)
	o = w.must("mirror", "-c", cfg, w.docker("/ocp"))
	t.Log(o.stdout, o.stderr)
}
