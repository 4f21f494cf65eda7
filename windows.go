package gantry

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/window"
)

// windows parses MirrorOptions.Window.
func (o *MirrorOptions) windows() (all []window.Window, err error) {
	for _, text := range o.Window {
		w, err := window.Parse(text)
		if err != nil {
			return nil, inputHint("write it as 22:00-05:00", "Options.Window: %w", err)
		}
		all = append(all, w)
	}
	return all, nil
}

// windowGate returns the gate that is closed outside of MirrorOptions.Window, or nil if there is none.
func (e *Env) windowGate(o *MirrorOptions) (*window.Gate, error) {
	all, err := o.windows()
	if err != nil || len(all) == 0 || o.writesNothing() {
		return nil, err
	}
	g := &window.Gate{
		Windows: all, Now: time.Now,
		Paused: func(until time.Time) {
			e.say("%s", fmt.Sprintf("outside of %s: transfers that run are completed, and nothing new begins until %s", strings.Join(o.Window, ", "), until.Format("2006-01-02 15:04 MST")))
		},
		Resumed: func() { e.say("inside of %s again: continuing", strings.Join(o.Window, ", ")) },
	}
	if e.TuneWindow != nil {
		e.TuneWindow(g)
	}
	return g, nil
}

// waitForWindow waits until the gate of MirrorOptions.Window is open, before anything is locked, and returns it; nil if there is
// none.
func (e *Env) waitForWindow(ctx context.Context, o *MirrorOptions) (*window.Gate, error) {
	gate, err := e.windowGate(o)
	if err != nil || gate == nil {
		return nil, err
	}
	return gate, gate.Wait(ctx)
}
