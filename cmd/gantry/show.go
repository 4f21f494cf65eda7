package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/gantry-mirror/gantry/mirror"
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

// openScreen decides how progress is shown, and leads all that goes to stderr
// by the screen that a bar is drawn on. NO_COLOR changes nothing: no view has
// colours.
func (a *app) openScreen() error {
	drawable := false
	var size func() (int, int)
	if f, ok := a.stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		drawable = true
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
		return usageHint("give auto, bar, lines, json or none", "--progress %q", a.progress)
	case a.quiet:
		return usageHint("leave one of them out", "--quiet and --progress %s contradict each other", a.progress)
	case a.progress == progressBar && !drawable:
		return usageHint("give lines, or auto, which looks first", "--progress bar: stderr is not a terminal that a bar can be drawn on")
	case a.progress == progressBar && a.logsJSON():
		return usageHint("write the log to a file with --log-file, or give lines", "--progress bar would spoil the JSON of --log-format json")
	}
	return nil
}

// logsJSON reports whether stderr is a log in JSON.
func (a *app) logsJSON() bool { return a.logFormat == outputJSON && a.logPath == "" }

// talks reports whether people are told what is going on. Where they asked for
// quiet or for JSON, stderr is left to the log and to the error.
func (a *app) talks() bool { return !a.quiet && a.output != outputJSON }

// say writes a line for people: that something goes on. It is text, or an entry
// of a log in JSON or an event, which other lines would spoil.
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

// warn writes what people have to know, quiet or not.
func (a *app) warn(format string, args ...any) {
	if a.people != nil {
		a.people.Warn(fmt.Sprintf(format, args...))
		return
	}
	a.line(format, args...)
}

// line writes a line to stderr.
func (a *app) line(format string, args ...any) {
	fmt.Fprintln(a.stderr, plain(fmt.Sprintf(format, args...)))
}

// Write makes app the place for the lines of package progress.
func (a *app) Write(line []byte) (int, error) {
	a.tell("%s", strings.TrimSuffix(string(line), "\n"))
	return len(line), nil
}

// show shows how far something is, until stop is called. what is a participle.
func (a *app) show(what string, read func() progress.Reading) (stop func()) {
	return a.watch(what, read, nil)
}

// watch is show where m, if there is one, says more to programs.
func (a *app) watch(what string, read func() progress.Reading, m *mirror.Meter) (stop func()) {
	var view progress.View
	every := everyBar
	switch a.progress {
	case progressBar:
		view = progress.Bar(a.screen)
	case progressLines:
		view, every = progress.Lines(a), everyLine
	case progressJSON:
		view, every = &eventView{events: a.events, meter: m, retries: a.retries}, everyEvent
	default:
		return func() {}
	}
	return progress.Show(view, func() progress.Reading {
		r := read()
		r.What = cmp.Or(r.What, what)
		return r
	}, progress.Options{Every: every})
}
