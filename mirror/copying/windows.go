package copying

import (
	"context"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/window"
)

// ParseWindows parses times of the day at which content is copied.
func ParseWindows(texts []string) (all []window.Window, err error) {
	for _, text := range texts {
		w, err := window.Parse(text)
		if err != nil {
			return nil, env.InputHint("write it as 22:00-05:00", "Options.Window: %w", err)
		}
		all = append(all, w)
	}
	return all, nil
}

// CheckWindows returns an error if one of them is not a part of a day.
func CheckWindows(all []window.Window) error {
	for _, w := range all {
		if err := w.Check(); err != nil {
			return env.Inputf("Options.Window: %w", err)
		}
	}
	return nil
}

// windowGate returns the gate of a run that copies only in some windows, or nil if it copies always.
func windowGate(e *env.Env, all []window.Window) *window.Gate {
	if len(all) == 0 {
		return nil
	}
	texts := elements.Map(all, func(w window.Window) string { return w.String() })
	g := &window.Gate{
		Windows: all, Now: time.Now,
		Paused: func(until time.Time) {
			e.Noticef("outside of %s: transfers that run are completed, and nothing new begins until %s", strings.Join(texts, ", "), until.Format("2006-01-02 15:04 MST"))
		},
		Resumed: func() { e.Noticef("inside of %s again: continuing", strings.Join(texts, ", ")) },
	}
	if e.TuneWindow != nil {
		e.TuneWindow(g)
	}
	return g
}

// WaitForWindow waits until a run may begin, and returns its gate, if it has one.
func WaitForWindow(ctx context.Context, e *env.Env, all []window.Window) (*window.Gate, error) {
	gate := windowGate(e, all)
	if gate == nil {
		return nil, nil
	}
	return gate, gate.Wait(ctx)
}
