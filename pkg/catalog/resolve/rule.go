package resolve

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/checker"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

// A rule is the compiled rule of a cel constraint.
type rule struct {
	language *language
	program  interpreter.InterpretableV2
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
	source := common.NewTextSource(text)
	parsed, found := l.parser.Parse(source)
	if err := firstIssue(found); err != nil {
		return nil, err
	}
	if err := l.checkForm(parsed); err != nil {
		return nil, err
	}
	checked, found := checker.Check(parsed, source, l.checker)
	if err := firstIssue(found); err != nil {
		return nil, err
	}
	if result := checked.GetType(checked.Expr().ID()); result != types.BoolType {
		return nil, fmt.Errorf("its result has the type %s, but must be bool", result)
	}
	options, err := limits()
	if err != nil {
		return nil, err
	}
	program, err := l.interpreter.NewInterpretable(checked, options...)
	if err != nil {
		return nil, err
	}
	return &rule{language: l, program: program}, nil
}

// firstIssue returns the first problem that the parser or the checker found, in one line.
func firstIssue(found *common.Errors) error {
	if len(found.GetErrors()) == 0 {
		return nil
	}
	first := found.GetErrors()[0]
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

// evaluate evaluates the rule. The interpreter panics at a limit, also in the functions of cel-go.
func (r *rule) evaluate(properties ref.Val) (value ref.Val, err error) {
	if r.language.left == 0 {
		return nil, errCost
	}
	frame, err := interpreter.NewExecutionFrame(map[string]any{"properties": properties})
	if err != nil {
		return nil, err
	}
	defer func() {
		if used := frame.CostTracker(); used != nil {
			r.language.spend(used.ActualCost())
		}
		switch cause := recover().(type) {
		case nil:
		case interpreter.EvalCancelledError, cost.LimitExceededError:
			value, err = nil, errCost
		default:
			value, err = nil, fmt.Errorf("internal error: %v", cause)
		}
		frame.Close()
	}()
	value = r.program.Exec(frame)
	if failed, ok := value.(*types.Err); ok {
		if errors.As(failed, &interpreter.EvalCancelledError{}) {
			return nil, errCost
		}
		return nil, failed
	}
	return value, nil
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
