package gantry

import (
	"context"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/window"
)

// parseWindows parses times of the day at which content is copied.
func parseWindows(texts []string) (all []window.Window, err error) {
	for _, text := range texts {
		w, err := window.Parse(text)
		if err != nil {
			return nil, inputHint("write it as 22:00-05:00", "Options.Window: %w", err)
		}
		all = append(all, w)
	}
	return all, nil
}

// windowGate returns the gate of a run that copies only in some windows, or nil if it copies always.
func (e *Env) windowGate(texts []string) (*window.Gate, error) {
	all, err := parseWindows(texts)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	g := &window.Gate{
		Windows: all, Now: time.Now,
		Paused: func(until time.Time) {
			e.say("outside of %s: transfers that run are completed, and nothing new begins until %s", strings.Join(texts, ", "), until.Format("2006-01-02 15:04 MST"))
		},
		Resumed: func() { e.say("inside of %s again: continuing", strings.Join(texts, ", ")) },
	}
	if e.TuneWindow != nil {
		e.TuneWindow(g)
	}
	return g, nil
}

// waitForWindow waits until a run may begin, and returns its gate, if it has one.
func (e *Env) waitForWindow(ctx context.Context, texts []string) (*window.Gate, error) {
	gate, err := e.windowGate(texts)
	if err != nil || gate == nil {
		return nil, err
	}
	return gate, gate.Wait(ctx)
}
