package resolve

import (
	"errors"
	"fmt"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// What rules may cost, since they come out of a catalog that anybody may have
// written. A unit is about 100 ns of one processor, or ten bytes of memory; a rule
// as publishers write them costs some ten units for each property of a bundle.
const (
	maxRule     = 8 << 10     // bytes of a rule
	maxCost     = 100_000     // units of a rule on one bundle
	maxCostAll  = 100_000_000 // units of all rules of a round
	compileCost = 100         // units for each byte of a rule, to compile it

	maxLists = 32     // lists that a rule writes down or collects by a macro
	maxMaps  = 4      // maps that a rule writes down
	listCost = 1_000  // units for each, to compile it
	mapCost  = 10_000 // the same
)

var errCost = errors.New("it costs too much to evaluate")

// A toll is taken of every call of a function before it is made. The costs that
// cel-go itself tracks come after a call, and are one unit for arguments whose
// types are not known when a rule is compiled, as those of properties: a rule of
// a hundred letters could double a string until no memory is left.
type toll struct {
	adapter types.Adapter
	here    uint64 // what the evaluation at hand may still cost
	left    uint64 // what all may still cost

	patterns map[string]*pattern
}

// take takes units from what all rules may still cost. false means that there
// is nothing left.
func (t *toll) take(units uint64) bool {
	t.left -= min(units, t.left)
	return t.left > 0
}

// form looks at what a rule is made of, before its types are checked: the time
// which that takes grows with the third power of the depth of lists of lists,
// and is doubled by every map of maps.
func (t *toll) form(parsed *ast.AST) error {
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
		return fmt.Errorf("it makes %d lists and %d maps, and Gantry reads rules with at most %d and %d", lists, maps, maxLists, maxMaps)
	}
	if !t.take(lists*listCost + maps*mapCost) {
		return errCost
	}
	return nil
}

// enter begins an evaluation.
func (t *toll) enter() bool {
	t.here = min(maxCost, t.left)
	return t.here > 0
}

// pay takes units from the evaluation at hand.
func (t *toll) pay(units uint64) bool {
	paid := min(units, t.here)
	t.here -= paid
	t.take(paid)
	return t.here > 0
}

// calls puts the toll before the overloads of a function.
func (t *toll) calls(name string, all []*functions.Overload) []*functions.Overload {
	tolled := make([]*functions.Overload, 0, len(all))
	for _, o := range all {
		o := *o
		if call := o.Unary; call != nil {
			o.Unary = func(a ref.Val) ref.Val {
				if !t.admits(name, a) {
					return types.WrapErr(errCost)
				}
				return call(a)
			}
		}
		if call := o.Binary; call != nil && name == overloads.Matches {
			o.Binary = t.matches
		} else if call != nil {
			o.Binary = func(a, b ref.Val) ref.Val {
				if !t.admits(name, a, b) {
					return types.WrapErr(errCost)
				}
				if left, right, ok := lists(name, a, b); ok {
					return t.concat(left, right)
				}
				return call(a, b)
			}
		}
		if call := o.Function; call != nil {
			o.Function = func(args ...ref.Val) ref.Val {
				if !t.admits(name, args...) {
					return types.WrapErr(errCost)
				}
				return call(args...)
			}
		}
		tolled = append(tolled, &o)
	}
	return tolled
}

// equality puts the toll before == and !=, which cel-go does not call as
// functions.
func (t *toll) equality(node interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, ok := node.(interpreter.InterpretableCall)
	if !ok || call.Function() != operators.Equals && call.Function() != operators.NotEquals {
		return node, nil
	}
	want := types.Bool(call.Function() == operators.Equals)
	return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(args ...ref.Val) ref.Val {
		if !t.admits(call.Function(), args...) {
			return types.WrapErr(errCost)
		}
		return types.Bool(types.Equal(args[0], args[1]) == want)
	}), nil
}

// admits takes the toll of a call: what the work and the result of it are at
// most in proportion to.
func (t *toll) admits(name string, args ...ref.Val) bool {
	switch name {
	case operators.NotStrictlyFalse: // of every turn of a loop, and must not fail
		t.pay(1)
		return true
	case overloads.TypeConvertDyn, overloads.TypeConvertType:
		return t.pay(1)
	case operators.Index, overloads.Size, operators.Add:
		units := uint64(1)
		for i, a := range args {
			if _, grows := a.(traits.MutableLister); grows && i == 0 {
				continue // the list that a macro collects, which grows in place
			}
			units += width(a)
			if list, ok := a.(traits.Lister); ok && name == operators.Add {
				units += uint64(length(list)) //nolint:gosec // a length
			}
		}
		return t.pay(units)
	}
	for _, a := range args {
		if !t.walk(a) {
			return false
		}
	}
	return t.pay(1)
}

// walk pays for everything in a value, and stops where there is nothing left to
// pay with: parts of it may be the same, so it may be far larger than the memory
// that it takes.
func (t *toll) walk(v ref.Val) bool {
	switch v := v.(type) {
	case traits.Lister:
		for i := range length(v) {
			if !t.walk(v.Get(types.Int(i))) {
				return false
			}
		}
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			if !t.walk(key) || !t.walk(v.Get(key)) {
				return false
			}
		}
	}
	return t.pay(1 + width(v))
}

// width is what a string costs to go through.
func width(v ref.Val) uint64 {
	switch v := v.(type) {
	case types.String:
		return uint64(len(v)) / 10
	case types.Bytes:
		return uint64(len(v)) / 10
	}
	return 0
}

// lists are the operands of the concatenation of two lists, unless the first is
// one that a macro collects.
func lists(name string, a, b ref.Val) (left, right traits.Lister, ok bool) {
	if _, grows := a.(traits.MutableLister); name != operators.Add || grows {
		return nil, nil, false
	}
	left, isList := a.(traits.Lister)
	right, ok = b.(traits.Lister)
	return left, right, ok && isList
}

// concat makes one list of two. cel-go's own is a tree of lists, whose elements
// take longer to find the deeper it is.
func (t *toll) concat(left, right traits.Lister) ref.Val {
	all := make([]ref.Val, 0, length(left)+length(right))
	for _, list := range []traits.Lister{left, right} {
		for i := range length(list) {
			all = append(all, list.Get(types.Int(i)))
		}
	}
	return types.NewRefValList(t.adapter, all)
}

func length(list traits.Lister) int {
	size, _ := list.Size().(types.Int)
	return int(size)
}
