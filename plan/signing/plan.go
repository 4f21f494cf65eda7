package signing

import (
	"github.com/gantry-mirror/gantry/plan"
)

// ReadPlan reads a plan from a file, which may be compressed with gzip.
func ReadPlan(path string) (*plan.Plan, error) {
	p, _, err := readPlan(path)
	return p, err
}
