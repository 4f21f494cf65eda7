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
	"github.com/blang/semver/v4"
)

// A rule is what a cel constraint says, compiled.
type rule struct {
	language *language
	program  interpreter.InterpretableV2
	err      error // the first that evaluating it gave
}

// compile compiles a rule, whose result must be a bool. Errors are for people,
// with the place in the rule.
func (l *language) compile(text string) (r *rule, err error) {
	if len(text) > maxRule {
		return nil, fmt.Errorf("it has %d bytes, and Gantry reads at most %d", len(text), maxRule)
	}
	if !l.toll.take(compileCost * uint64(len(text))) {
		return nil, errCost
	}
	defer func() { // cel-go's own Env does not trust its parts either
		if p := recover(); p != nil {
			r, err = nil, fmt.Errorf("it cannot be compiled: %v", p)
		}
	}()
	source := common.NewTextSource(text)
	parsed, problems := l.parser.Parse(source)
	if err := firstProblem(problems); err != nil {
		return nil, err
	}
	if err := l.toll.form(parsed); err != nil {
		return nil, err
	}
	checked, problems := checker.Check(parsed, source, l.checker)
	if err := firstProblem(problems); err != nil {
		return nil, err
	}
	if result := checked.GetType(checked.Expr().ID()); result != types.BoolType {
		return nil, fmt.Errorf("its result is of type %s, and must be bool", result)
	}
	program, err := l.interpreter.NewInterpretable(checked, interpreter.CustomDecoratorV2(l.toll.equality))
	if err != nil {
		return nil, err
	}
	return &rule{language: l, program: program}, nil
}

// firstProblem is the first of what the parser or the checker found, in a line.
func firstProblem(problems *common.Errors) error {
	if problems == nil || len(problems.GetErrors()) == 0 {
		return nil
	}
	first := problems.GetErrors()[0]
	message, _, _ := strings.Cut(first.Message, "\n")
	if first.Location.Line() < 1 {
		return errors.New(message) // of the rule as a whole
	}
	return fmt.Errorf("line %d, column %d: %s", first.Location.Line(), first.Location.Column()+1, message)
}

// holds evaluates the rule for the properties of a bundle. One that gives an
// error does not hold, as in OLM.
func (r *rule) holds(properties ref.Val) bool {
	value, err := r.evaluate(properties)
	if err != nil && r.err == nil {
		r.err = err
	}
	return err == nil && value == types.True
}

func (r *rule) evaluate(properties ref.Val) (value ref.Val, err error) {
	toll := &r.language.toll
	if !toll.enter() {
		return nil, errCost
	}
	// The tracker counts what the toll does not see: variables, loops, literals.
	tracker, err := cost.NewTracker(nil, cost.TrackerLimit(maxCost))
	if err != nil {
		return nil, err
	}
	frame, err := interpreter.NewExecutionFrame(map[string]any{"properties": properties})
	if err != nil {
		return nil, err
	}
	defer frame.Close()
	frame.SetCostTracker(tracker)
	defer func() {
		toll.take(tracker.ActualCost())
		// cel-go leaves an evaluation that costs too much by a panic, and its own
		// Program takes all others for errors of the evaluation.
		switch p := recover().(type) {
		case nil:
		case cost.LimitExceededError:
			value, err = nil, errCost
		default:
			value, err = nil, fmt.Errorf("it cannot be evaluated: %v", p)
		}
	}()
	value = r.program.Exec(frame)
	if value != types.True && toll.here == 0 {
		return nil, errCost
	}
	if failed, ok := value.(*types.Err); ok {
		return nil, failed
	}
	return value, nil
}

// semverCompare compares two versions as github.com/blang/semver does, reading
// them tolerantly: "v1.2" is 1.2.0.
func semverCompare(a, b ref.Val) ref.Val {
	left, err := semver.ParseTolerant(fmt.Sprint(a.Value()))
	if err != nil {
		return types.ValOrErr(a, "%s is not a version", plain(fmt.Sprint(a.Value())))
	}
	right, err := semver.ParseTolerant(fmt.Sprint(b.Value()))
	if err != nil {
		return types.ValOrErr(b, "%s is not a version", plain(fmt.Sprint(b.Value())))
	}
	return types.Int(left.Compare(right))
}

// ruled is met by a bundle for which a rule holds.
type ruled struct {
	*rule
	text  string
	known map[*bundle]bool // what was evaluated
}

func (r ruled) meets(b *bundle) bool {
	holds, known := r.known[b]
	if !known {
		holds = r.holds(r.language.properties(b.Bundle))
		r.known[b] = holds
	}
	return holds
}

func (r ruled) String() string { return "meets the rule " + plain(r.text) }
