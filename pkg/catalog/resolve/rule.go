package resolve

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

// A rule is the compiled rule of a cel constraint.
type rule struct {
	language *language
	program  cel.Program
	err      error // the first error of an evaluation
}

// compile compiles a rule, whose result must be a bool. Errors have the position in the rule.
func (l *language) compile(text string) (*rule, error) {
	if len(text) > maxRule {
		return nil, fmt.Errorf("it has %d bytes; the limit is %d", len(text), maxRule)
	}
	if !l.spend(compileCost * uint64(len(text))) {
		return nil, errCost
	}
	parsed, issues := l.env.Parse(text)
	if err := firstIssue(issues); err != nil {
		return nil, err
	}
	if err := l.checkForm(parsed); err != nil {
		return nil, err
	}
	checked, issues := l.env.Check(parsed)
	if err := firstIssue(issues); err != nil {
		return nil, err
	}
	if result := checked.OutputType(); result != types.BoolType {
		return nil, fmt.Errorf("its result has the type %s, but must be bool", result)
	}
	program, err := l.env.Program(checked, options()...)
	if err != nil {
		return nil, err
	}
	return &rule{language: l, program: program}, nil
}

// firstIssue returns the first problem that the parser or the checker found, in one line.
func firstIssue(issues *cel.Issues) error {
	if issues == nil || len(issues.Errors()) == 0 {
		return nil
	}
	first := issues.Errors()[0]
	message, _, _ := strings.Cut(first.Message, "\n")
	if first.Location.Line() < 1 {
		return errors.New(message) // about the rule as a whole
	}
	return fmt.Errorf("line %d, column %d: %s", first.Location.Line(), first.Location.Column()+1, message)
}

// holds evaluates the rule for the properties of a bundle. It is false after an error, as in OLM.
func (r *rule) holds(properties ref.Val) bool {
	value, err := r.evaluate(properties)
	if err != nil && r.err == nil {
		r.err = err
	}
	return err == nil && value == types.True
}

func (r *rule) evaluate(properties ref.Val) (ref.Val, error) {
	if r.language.left == 0 {
		return nil, errCost
	}
	value, details, err := r.program.Eval(map[string]any{"properties": properties})
	if details != nil && details.ActualCost() != nil {
		r.language.spend(*details.ActualCost())
	}
	if canceled := (interpreter.EvalCancelledError{}); errors.As(err, &canceled) {
		return nil, errCost
	}
	return value, err
}

// ruleMatch matches bundles for which a rule holds.
type ruleMatch struct {
	*rule
	text  string
	known map[*bundle]bool // results
}

func (r ruleMatch) matches(b *bundle) bool {
	holds, known := r.known[b]
	if !known {
		holds = r.holds(r.language.properties(b.Bundle))
		r.known[b] = holds
	}
	return holds
}

func (r ruleMatch) String() string { return "satisfies the rule " + printable(r.text) }
