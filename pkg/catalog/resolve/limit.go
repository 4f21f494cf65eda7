package resolve

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// Limits on rules, since anyone can write a catalog. Costs are units of cel-go, about 100 ns of one
// core; a typical rule costs some ten units for each property of a bundle.
const (
	maxRule     = 8 << 10     // bytes of a rule
	maxCost     = 100_000     // units of a rule for one bundle
	maxCostAll  = 100_000_000 // units of all rules of a round
	compileCost = 100         // units for each byte of a rule, to compile it

	maxLists = 32     // list literals and list macros of a rule
	maxMaps  = 4      // map literals of a rule
	listCost = 1_000  // units for each, to compile it
	mapCost  = 10_000 // units for each, to compile it

	maxSize       = 100_000 // elements of a value, with ten bytes of text as one; shared parts count each time
	maxValueDepth = 100     // levels of a value

	patternCost = 50    // units for each byte of a regular expression, to compile it
	repeatCost  = 5_000 // units for each repetition {n} in it, which Go unrolls up to 1,000 times
)

var errCost = errors.New("it exceeds the cost limit")

// spend takes units from what all rules together may still use. It reports whether something is left.
func (l *language) spend(units uint64) bool {
	l.left -= min(units, l.left)
	return l.left > 0
}

// checkForm limits the literals of a rule before its types are checked: the time for that grows with
// the third power of the depth of nested lists, and doubles with every nested map.
func (l *language) checkForm(parsed *ast.AST) error {
	var lists, maps uint64
	ast.PostOrderVisit(parsed.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.ListKind:
			lists++
		case ast.MapKind:
			maps++
		}
	}))
	if lists > maxLists || maps > maxMaps {
		return fmt.Errorf("it makes %d lists and %d maps; the limits are %d and %d", lists, maps, maxLists, maxMaps)
	}
	if !l.spend(lists*listCost + maps*mapCost) {
		return errCost
	}
	return nil
}

// limits are the limits of one evaluation. The size limit is for values that grow: parts of them can
// be shared, so that they are far larger than the memory they use.
func limits() ([]interpreter.PlannerOption, error) {
	used, err := cost.NewTracker(callCost{}, cost.TrackerLimit(maxCost))
	if err != nil {
		return nil, err
	}
	memory := func() (*types.MemoryTracker, error) {
		return types.NewMemoryTracker(types.MemoryTrackerSizeCalculator(sizeCalculator()), types.MemoryTrackerLimit(maxSize)), nil
	}
	return []interpreter.PlannerOption{
		interpreter.CostObserver(interpreter.CostTrackerFactory(used.Clone)),
		interpreter.MemoryObserver(interpreter.MemoryTrackerFactory(memory)),
	}, nil
}

// sizeCalculator returns cel-go's calculator for values of up to maxSize elements. Its own limits are too
// small for the properties of real bundles.
func sizeCalculator() *types.SizeCalculator {
	return types.NewSizeCalculator(types.SizeCalculatorMaxDepth(maxValueDepth), types.SizeCalculatorMaxTraversal(maxSize))
}

// callCost is the cost of calls whose work depends on their arguments. cel-go counts one unit if the
// types of arguments are unknown when the rule is compiled, as those of properties.
type callCost struct{}

// CallCost implements cost.ActualCostEstimator.
func (callCost) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	units := uint64(1)
	sizes := sizeCalculator()
	for i, a := range args {
		switch a := a.(type) {
		case types.String:
			if units += uint64(len(a)) / 10; function == overloads.Matches && i == 1 {
				units += patternCost*uint64(len(a)) + repeatCost*uint64(strings.Count(string(a), "{")) //nolint:gosec // a count
			}
		case types.Bytes:
			units += uint64(len(a)) / 10
		case traits.MutableLister: // a macro appends to it in place
		default:
			switch function {
			case operators.Equals, operators.NotEquals, operators.In, operators.Add:
				units += uint64(sizes.AggregateSize(a))
			}
		}
	}
	return &units
}
