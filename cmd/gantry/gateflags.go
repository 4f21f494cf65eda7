package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/plan/gates"
)

// gateFlags are the flags for programs that decide what may be mirrored.
type gateFlags struct {
	image, plan    string
	parallel       int
	timeout, valid time.Duration
	flags          *pflag.FlagSet // to find out which were given
}

// The names of the flags.
const (
	gateFlag         = "gate"
	gatePlanFlag     = "gate-plan"
	gateParallelFlag = "gate-parallel"
	gateTimeoutFlag  = "gate-timeout"
	gateValidFlag    = "gate-valid"
)

func (g *gateFlags) addFlags(f *pflag.FlagSet) {
	g.flags = f
	f.StringVar(&g.image, gateFlag, "", "run this program for each image; if it ends with 1, the image is not mirrored")
	f.StringVar(&g.plan, gatePlanFlag, "", "run this program for the plan; if it ends with 1, nothing is mirrored")
	f.IntVar(&g.parallel, gateParallelFlag, 0, fmt.Sprintf("how many programs of --gate run at the same time; 0 is %d", gates.DefaultGateParallel))
	f.DurationVar(&g.timeout, gateTimeoutFlag, 0, "how long a program may take for one answer; 0 is 10m")
	f.DurationVar(&g.valid, gateValidFlag, 0, "for how long the workspace remembers that --gate accepted an image, such as 24h (default: it is asked in each run)")
}

// gates returns the values of the flags. An unset variable of a script must not disable a gate.
func (g *gateFlags) gates() (gates.Gates, error) {
	for name, value := range map[string]string{gateFlag: g.image, gatePlanFlag: g.plan} {
		if value == "" && g.flags.Changed(name) {
			return gates.Gates{}, usageHint("name a program, or leave it out", "--%s is empty", name)
		}
	}
	return gates.Gates{Gate: g.image, GatePlan: g.plan, GateParallel: g.parallel, GateTimeout: g.timeout, GateValid: g.valid}, nil
}
