package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/advice/escape"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// text prints a result on stdout. On a terminal, long lines are wrapped.
func (a *app) text(text string) error { return a.exact(view.Wrap(plain(text), a.columns())) }

// exact prints text on stdout whose lines have a meaning, such as YAML.
func (a *app) exact(text string) error {
	_, err := io.WriteString(a.stdout, a.colored(a.stdout, plain(text)))
	return err
}

// columns returns the width of the terminal that stdout is, or 0 if it is none.
func (a *app) columns() int { return a.columnsOf(a.stdout) }

// columnsOf returns the width of the terminal that w is, or $COLUMNS if it has none. 0 is no terminal.
func (a *app) columnsOf(w io.Writer) int {
	f, ok := terminalOf(w)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 {
		columns, _ = strconv.Atoi(a.getenv("COLUMNS")) // 0 is no limit
	}
	return max(columns, 0)
}

// colored returns a text with its problems in color if w is a terminal that shows colors.
func (a *app) colored(w io.Writer, text string) string {
	if _, ok := terminalOf(w); !ok || a.getenv("NO_COLOR") != "" || a.getenv("TERM") == "dumb" {
		return text
	}
	return view.Highlight(text)
}

// terminalOf returns a writer as a terminal, if it is one.
func terminalOf(w io.Writer) (*os.File, bool) {
	switch w := w.(type) {
	case *os.File:
		return w, term.IsTerminal(int(w.Fd()))
	case unread:
		return terminalOf(w.Writer)
	case *progress.Screen:
		return terminalOf(w.Unwrap())
	}
	return nil, false
}

// plain removes characters that a terminal could interpret. Names and messages come from catalogs,
// update graphs, releases and registries.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsGraphic(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// The values of --output.
const (
	outputText = "text"
	outputJSON = "json"
)

// These are values of -o that only some verbs have.
const (
	outputYAML  = "yaml"
	outputWide  = "wide"  // text with more columns
	outputSARIF = "sarif" // for editors and forges
)

// outputHelp describes --output.
const outputHelp = "format of the result on stdout: text or json"

// encode prints the result as JSON.
func (a *app) encode(v any) error {
	enc := json.NewEncoder(escape.Writer(a.stdout))
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// formFlag adds -o to a verb with output formats of its own. The first is the default.
func formFlag(f *pflag.FlagSet, what string, forms ...string) {
	f.VarP(&formValue{forms[0], forms}, "output", "o", what)
	offer(f, "output", forms)
}

// A formValue is the value of -o of a verb with output formats of its own. It is checked when the command runs, so that its
// error is in the format that was asked for.
type formValue struct {
	text  string
	forms []string
}

func (v *formValue) String() string     { return v.text }
func (v *formValue) Type() string       { return "string" }
func (v *formValue) Set(s string) error { v.text = s; return nil }

// readForm reads the output format of a command.
func (a *app) readForm(cmd *cobra.Command) error {
	if flag := cmd.Flag("output"); flag != nil {
		if v, ok := flag.Value.(*formValue); ok {
			return a.form(v.text, v.forms...)
		}
	}
	a.format = a.output
	return nil
}

// form sets the output format. With JSON in place of text, errors are JSON, too.
func (a *app) form(form string, forms ...string) error {
	if !slices.Contains(forms, form) {
		return usagef("-o %q: give one of %s", form, strings.Join(forms, ", "))
	}
	if a.format = form; form == outputJSON && forms[0] == outputText {
		a.output = outputJSON
	}
	return nil
}

// result prints a result: as JSON, as YAML, or as text.
func (a *app) result(result any, text func() string) error {
	switch a.format {
	case outputJSON:
		return a.encode(result)
	case outputYAML:
		return a.yaml(result)
	}
	return a.text(text())
}

// show prints the result of a room, unless it is nil. It returns the error of printing, or the one of the room.
func show[R any](a *app, result *R, err error, text func(*R) string) error {
	if result == nil {
		return err
	}
	return cmp.Or(a.result(result, func() string { return text(result) }), err)
}

// yaml prints the result as YAML.
func (a *app) yaml(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if escape.Contains(string(text)) {
		text = append(escape.JSON(text), '\n') // which is YAML, too: the converter does not escape them
	} else if text, err = yaml.JSONToYAML(text); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "---\n%s", text)
	return err
}
