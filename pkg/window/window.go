// Package window pauses work outside of times of the day, such as 22:00-05:00.
//
// Times are those of a time zone. A window whose end is not after its start ends on the next day. On days
// when clocks are set forward or back, a window begins and ends when the clock shows its times: it is an
// hour shorter or longer.
package window

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// A Window is a part of each day: from Start until End, which is not part of it.
type Window struct {
	Start, End time.Duration // since midnight, as a clock shows it
}

// Parse reads "22:00-05:00".
func Parse(text string) (Window, error) {
	from, to, ok := strings.Cut(text, "-")
	start, errStart := clock(from)
	end, errEnd := clock(to)
	w := Window{start, end}
	if !ok || errStart != nil || errEnd != nil || w.Check() != nil {
		return Window{}, fmt.Errorf("%.40q is not a window such as 22:00-05:00", text)
	}
	return w, nil
}

// Check returns an error if the window is not a part of a day, in whole minutes.
func (w Window) Check() error {
	const day = 24 * time.Hour
	if w.Start < 0 || w.Start >= day || w.End < 0 || w.End > day || w.Start == w.End || w.Start%time.Minute != 0 || w.End%time.Minute != 0 {
		return fmt.Errorf("from %s to %s is not a part of a day", w.Start, w.End)
	}
	return nil
}

// String returns the window as Parse reads it.
func (w Window) String() string {
	minutes := func(d time.Duration) (hour, minute int) { return int(d / time.Hour), int(d % time.Hour / time.Minute) }
	h, m := minutes(w.Start)
	untilH, untilM := minutes(w.End)
	return fmt.Sprintf("%02d:%02d-%02d:%02d", h, m, untilH, untilM)
}

// clock reads "05:00". "24:00" is the end of a day.
func clock(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	if text == "24:00" {
		return 24 * time.Hour, nil
	}
	t, err := time.Parse("15:04", text)
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, err
}

// on returns when the window that starts on a day begins and ends.
func (w Window) on(day time.Time) (begin, end time.Time) {
	at := func(days int, clock time.Duration) time.Time {
		return time.Date(day.Year(), day.Month(), day.Day()+days, int(clock/time.Hour), int(clock%time.Hour/time.Minute), 0, 0, day.Location())
	}
	days := 0
	if w.End <= w.Start {
		days = 1
	}
	return at(0, w.Start), at(days, w.End)
}

// Next returns when one of the windows is open next: at, or a time after it.
func Next(windows []Window, at time.Time) time.Time {
	var next time.Time
	for _, w := range windows {
		for days := -1; days <= 2; days++ {
			begin, end := w.on(at.AddDate(0, 0, days))
			switch {
			case !begin.After(at) && at.Before(end):
				return at
			case begin.After(at) && begin.Before(end) && (next.IsZero() || begin.Before(next)):
				next = begin
			}
		}
	}
	return next
}

// checkEvery is the default of Gate.Every.
const checkEvery = 30 * time.Second

// A Gate is closed outside of windows.
type Gate struct {
	Windows []Window
	// Now returns the time, in the time zone of the windows.
	Now func() time.Time
	// Every is how long a pause waits until it looks at the clock again, which may be set meanwhile. 0 is 30
	// seconds.
	Every time.Duration
	// Paused is called when the gate is found closed, and Resumed when it opens again.
	Paused  func(until time.Time)
	Resumed func()

	mu     sync.Mutex
	closed bool
}

// Wait returns when the gate is open, or with the cause of ctx as soon as that ends. Several goroutines may
// wait.
func (g *Gate) Wait(ctx context.Context) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		left := g.check()
		if left <= 0 {
			return nil
		}
		t := time.NewTimer(min(left, cmp.Or(g.Every, checkEvery)))
		select {
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		case <-t.C:
		}
	}
}

// check returns for how long the gate is closed, and reports changes.
func (g *Gate) check() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.Now()
	next := Next(g.Windows, now)
	closed := next.After(now)
	switch {
	case closed && !g.closed:
		g.Paused(next)
	case !closed && g.closed:
		g.Resumed()
	}
	g.closed = closed
	return next.Sub(now)
}
