//go:build !race

package plan

import "testing"

// The race detector empties pools at random, so that it finds allocations where
// there are none without it.

// Finding content takes no memory that grows with the plan.
func TestContentsHoldNothing(t *testing.T) {
	few, many := contentPlan(10), contentPlan(1000)
	allocs := func(p *Plan) float64 {
		return testing.AllocsPerRun(5, func() {
			if _, err := p.Contents(); err != nil {
				t.Fatal(err)
			}
		})
	}
	if a, b := allocs(few), allocs(many); b > a {
		t.Errorf("%v allocations for 10 images, %v for 1000", a, b)
	}
}
