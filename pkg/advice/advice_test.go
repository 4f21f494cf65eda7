package advice_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

type damage struct{ entries []string }

func (d *damage) Error() string { return fmt.Sprintf("%d entries are damaged", len(d.entries)) }
func (d *damage) Advice() (advice.Kind, string) {
	return advice.Mismatch, "request a repair"
}

func TestKindOf(t *testing.T) {
	input := advice.New(advice.Input, "check the path", "reading %s: %w", "a.yaml", io.ErrUnexpectedEOF)
	for _, tt := range []struct {
		name string
		err  error
		kind advice.Kind
		hint string
		all  int
	}{
		{"nil", nil, advice.Failure, "", 0},
		{"plain", io.EOF, advice.Failure, "", 0},
		{"input", input, advice.Input, "check the path", 1},
		{"wrapped", fmt.Errorf("planning: %w", input), advice.Input, "check the path", 1},
		{"data of its own", fmt.Errorf("reading: %w", &damage{[]string{"a"}}), advice.Mismatch, "request a repair", 1},
		{"joined", errors.Join(input, &damage{}), advice.Mismatch, "check the path", 2},
		{"the same twice", errors.Join(input, input), advice.Input, "check the path", 1},
		{"outer without a hint", advice.Wrap(advice.Partial, input, ""), advice.Partial, "check the path", 1},
		{"outer of a more general kind", advice.Wrap(advice.Failure, input, "look again"), advice.Input, "look again", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := advice.KindOf(tt.err); got != tt.kind {
				t.Errorf("KindOf = %d, want %d", got, tt.kind)
			}
			if got := advice.Hint(tt.err); got != tt.hint {
				t.Errorf("Hint = %q, want %q", got, tt.hint)
			}
			text := ""
			if tt.err != nil {
				text = tt.err.Error()
			}
			if tt.hint != "" {
				text += "; " + tt.hint
			}
			if got := advice.Text(tt.err); got != text {
				t.Errorf("Text = %q, want %q", got, text)
			}
			if got := advice.Hints(tt.err); len(got) != tt.all {
				t.Errorf("Hints = %q, want %d", got, tt.all)
			}
		})
	}
}

type outage struct{}

func (outage) Error() string                 { return "503" }
func (outage) Advice() (advice.Kind, string) { return advice.Failure, "" }
func (outage) Remedy() string                { return "run again later" }

// TestRemedy checks that what usually helps is said only if nothing else is.
func TestRemedy(t *testing.T) {
	for want, err := range map[string]error{
		"503; run again later":    outage{},
		"a: 503; run again later": fmt.Errorf("a: %w", outage{}),
		"503; ask":                advice.Wrap(advice.Failure, outage{}, "ask"),
	} {
		if got, all := advice.Text(err), advice.Hints(err); got != want || len(all) != 1 || !strings.HasSuffix(got, "; "+all[0]) {
			t.Errorf("%q with %q, want %q", got, all, want)
		}
	}
}

func TestError(t *testing.T) {
	err := &advice.Error{Kind: advice.Input, Where: "imageset.yaml:3", Err: io.EOF, Hint: "add a catalog"}
	if got, want := err.Error(), "imageset.yaml:3: EOF"; got != want {
		t.Errorf("Error = %q, want %q", got, want)
	}
	if !errors.Is(err, io.EOF) {
		t.Error("the cause is not wrapped")
	}
	if advice.Wrap(advice.Input, nil, "x") != nil {
		t.Error("Wrap(nil) is not nil")
	}
}
