package resolve

import (
	"errors"
	"regexp"
	"regexp/syntax"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

const (
	maxPattern  = 256  // bytes of a regular expression
	maxProgram  = 4096 // instructions that it compiles to
	maxPatterns = 32   // that are kept
	patternCost = 200  // units for each byte, to compile it
)

var errPattern = errors.New("its regular expression is too long")

// A pattern is a compiled regular expression, or the reason why it is none.
type pattern struct {
	regexp *regexp.Regexp
	size   uint64 // instructions
	err    error
}

// matches is the function of that name, which compiles an expression once for
// many bundles, and pays for what matching takes: each byte of the text may
// meet each instruction.
func (t *toll) matches(text, expression ref.Val) ref.Val {
	s, ok := text.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(text)
	}
	e, ok := expression.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(expression)
	}
	if len(e) > maxPattern {
		return types.WrapErr(errPattern)
	}
	p := t.patterns[string(e)]
	if p == nil {
		if !t.pay(1 + patternCost*uint64(len(e))) {
			return types.WrapErr(errCost)
		}
		if t.patterns == nil || len(t.patterns) == maxPatterns {
			t.patterns = map[string]*pattern{}
		}
		p = newPattern(string(e))
		t.patterns[string(e)] = p
	}
	if !t.pay((1 + width(s)) * p.size) {
		return types.WrapErr(errCost)
	}
	if p.err != nil {
		return types.WrapErr(p.err)
	}
	return types.Bool(p.regexp.MatchString(string(s)))
}

func newPattern(expression string) *pattern {
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return &pattern{size: 1, err: err}
	}
	program, err := syntax.Compile(tree.Simplify())
	if err == nil && len(program.Inst) > maxProgram {
		err = errPattern
	}
	if err != nil {
		return &pattern{size: 1, err: err}
	}
	compiled, err := regexp.Compile(expression)
	return &pattern{regexp: compiled, size: uint64(len(program.Inst)), err: err}
}
