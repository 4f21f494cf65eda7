package gates

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"time"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/plan/gates/gate"
)

// DefaultGateParallel is the default of Gates.GateParallel.
const DefaultGateParallel = 4

// Gates are programs that decide what may be mirrored (package gate). The zero value asks none.
type Gates struct {
	// Gate is asked about each image. An image that it refuses is handled like one that is missing at its
	// source.
	Gate string
	// GatePlan is asked about the whole plan. If it refuses, the run ends with an error.
	GatePlan string
	// GateParallel is how many programs run at the same time. The default is DefaultGateParallel.
	GateParallel int
	// GateTimeout is how long a program may take for one answer. The default is gate.DefaultTimeout.
	GateTimeout time.Duration
	// GateValid is for how long the workspace remembers that Gate accepted an image. The default asks in
	// each run.
	GateValid time.Duration
}

// Check returns an error if the options contradict each other.
func (g *Gates) Check() error {
	switch {
	case g.GateParallel < 0 || g.GateTimeout < 0 || g.GateValid < 0:
		return env.Inputf("Options.GateParallel, Options.GateTimeout and Options.GateValid cannot be negative")
	case g.Gate == "" && (g.GateParallel != 0 || g.GateValid != 0):
		return env.InputHint("set Options.Gate, or leave it out", "Options.GateParallel and Options.GateValid are for Options.Gate")
	case g.Gate == "" && g.GatePlan == "" && g.GateTimeout != 0:
		return env.InputHint("set Options.Gate or Options.GatePlan, or leave it out", "Options.GateTimeout is for gates")
	}
	return nil
}

// Programs are the programs of Gates.
type Programs struct {
	Gates
	image, plan *gate.Program // nil if not asked
	result      *GateResult   // about the images of this run
}

// Answers returns what the gate decided about images in this run; nil without one.
func (g *Programs) Answers() *GateResult {
	if g == nil {
		return nil
	}
	return g.result
}

// FindGates finds the programs.
func FindGates(e *env.Env, g Gates) (*Programs, error) {
	if err := g.Check(); err != nil {
		return nil, err
	}
	g.GateParallel = cmp.Or(g.GateParallel, DefaultGateParallel)
	found := &Programs{Gates: g}
	var err error
	if found.image, err = findGate("Options.Gate", g.Gate, g.GateTimeout); err != nil {
		return nil, err
	}
	found.plan, err = findGate("Options.GatePlan", g.GatePlan, g.GateTimeout)
	return found, err
}

func findGate(option, name string, timeout time.Duration) (*gate.Program, error) {
	if name == "" {
		return nil, nil
	}
	p, err := gate.Find(name, gate.Options{Environ: os.Environ(), Timeout: timeout})
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, env.InputHint("make it executable: chmod +x", "%s: %w", option, err)
	case errors.Is(err, exec.ErrDot):
		return nil, env.InputHint("name it with its folder: ./"+name, "%s: %w", option, err)
	case errors.Is(err, exec.ErrNotFound):
		return nil, env.InputHint("name one program, without arguments: a path, or a name in PATH", "%s: there is no program %q", option, name)
	case err != nil:
		return nil, env.InputHint("name one program, without arguments", "%s: %w", option, err)
	}
	return p, nil
}
