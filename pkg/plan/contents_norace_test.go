//go:build !race

package plan

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// The race detector empties pools at random, which adds allocations.

// TestContentsAllocations checks that Contents does not allocate more memory for larger plans.
func TestContentsAllocations(t *testing.T) {
	few, many := contentPlan(10), contentPlan(1000)
	allocs := func(p *Plan) float64 {
		return testing.AllocsPerRun(5, func() {
			_, err := p.Contents()
			fail.On(t, err)
		})
	}
	if a, b := allocs(few), allocs(many); b > a {
		t.Errorf("%v allocations for 10 images, %v for 1000", a, b)
	}
}
