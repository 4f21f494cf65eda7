package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// The values of --progress.
const (
	progressAuto  = "auto"
	progressBar   = "bar"
	progressLines = "lines"
	progressJSON  = "json"
	progressNone  = "none"
)

// How often progress is shown.
const (
	everyBar   = 200 * time.Millisecond
	everyEvent = time.Second
	everyLine  = 10 * time.Second
)

// openScreen decides how progress is shown, and directs everything for stderr through the screen
// that a bar is drawn on.
func (a *app) openScreen() error {
	var size func() (int, int)
	f, terminal := terminalOf(a.stderr)
	drawable := terminal && a.getenv("TERM") != "dumb"
	if drawable {
		size = func() (int, int) {
			columns, rows, err := term.GetSize(int(f.Fd()))
			if err != nil {
				return 0, 0
			}
			return columns, rows
		}
	}
	a.screen = progress.NewScreen(a.stderr, size)
	a.stderr = a.screen
	switch a.progress = cmp.Or(a.progress, progressAuto); {
	case a.progress == progressAuto && !a.talks():
		a.progress = progressNone
	case a.progress == progressAuto && drawable && !a.logsJSON():
		a.progress = progressBar
	case a.progress == progressAuto:
		a.progress = progressLines
	case a.progress == progressNone:
	case a.progress != progressBar && a.progress != progressLines && a.progress != progressJSON:
		return usageHint("use auto, bar, lines, json or none", "--progress %q", a.progress)
	case a.quiet:
		return usageHint("leave one of them out", "--quiet and --progress %s contradict each other", a.progress)
	case a.progress == progressBar && !drawable:
		return usageHint("use lines or auto", "--progress bar: stderr is not a terminal that can show a bar")
	case a.progress == progressBar && a.logsJSON():
		return usageHint("write the log to a file with --log-file, or use lines", "--progress bar cannot be combined with --log-format json on stderr")
	}
	return nil
}

// logsJSON reports whether stderr is a log in JSON.
func (a *app) logsJSON() bool { return a.logFormat == outputJSON && a.logPath == "" }

// talks reports whether notices are printed. With --quiet or --output json, stderr has only the log
// and the error.
func (a *app) talks() bool { return !a.quiet && a.output != outputJSON }

// say prints a notice: as text, or as a log entry in JSON or an event, because plain lines would
// make these invalid.
func (a *app) say(format string, args ...any) {
	if a.talks() {
		a.tell(format, args...)
	}
}

func (a *app) tell(format string, args ...any) {
	if a.people != nil {
		a.people.Info(fmt.Sprintf(format, args...))
		return
	}
	a.line(format, args...)
}

// warn prints a warning, also with --quiet.
func (a *app) warn(format string, args ...any) {
	if a.people != nil {
		a.people.Warn(fmt.Sprintf(format, args...))
		return
	}
	a.line(format, args...)
}

// line writes a line to stderr.
func (a *app) line(format string, args ...any) {
	text := view.Wrap(plain(redact.Text(fmt.Sprintf(format, args...))), a.columnsOf(a.stderr))
	fmt.Fprintln(a.stderr, a.colored(a.stderr, text))
}

// Write lets package progress print lines.
func (a *app) Write(line []byte) (int, error) {
	a.tell("%s", strings.TrimSuffix(string(line), "\n"))
	return len(line), nil
}

// progressLines returns the view that writes lines. They have times, except on a terminal and in
// logs and events, which have their own.
func (a *app) progressLines() progress.View {
	if _, terminal := terminalOf(a.stderr); terminal || a.people != nil {
		return progress.Lines(a)
	}
	return progress.TimedLines(a)
}

// show shows progress until stop is called. what is a participle, such as "planning".
func (a *app) show(what string, read func() progress.Reading) (stop func()) {
	return a.watch(what, read, nil, nil)
}

// watch is show with a meter, which adds details for programs, and the number of repeated requests.
// Both may be nil.
func (a *app) watch(what string, read func() progress.Reading, m *mirror.Meter, retries func() int64) (stop func()) {
	var shown progress.View
	every := everyBar
	switch a.progress {
	case progressBar:
		shown = progress.Bar(a.screen)
	case progressLines:
		shown, every = a.progressLines(), everyLine
	case progressJSON:
		shown, every = a.events.Progress(m, retries), everyEvent
	default:
		return func() {}
	}
	return progress.Show(shown, func() progress.Reading {
		r := read()
		r.What = cmp.Or(r.What, what)
		return r
	}, progress.Options{Every: every})
}
