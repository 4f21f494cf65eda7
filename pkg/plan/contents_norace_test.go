//go:build !race

package plan

import "testing"

// The race detector empties pools at random, which adds allocations.

// TestContentsAllocations checks that Contents does not allocate more memory for larger plans.
func TestContentsAllocations(t *testing.T) {
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
