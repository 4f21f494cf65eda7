package window

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "22:00", "22:00-", "25:00-01:00", "22:00-22:00", "24:00-01:00", "22-05", "22:00-05:00-06:00"} {
		if w, err := Parse(text); err == nil {
			t.Errorf("%q is %v", text, w)
		}
	}
	for _, text := range []string{"22:00-24:00", "00:00-24:00", "22:15-05:30"} {
		if w, err := Parse(text); err != nil || w.String() != text {
			t.Errorf("%s: %v, %v", text, w, err)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, w := range []Window{{}, {Start: -time.Hour}, {End: 25 * time.Hour}, {Start: 24 * time.Hour}, {End: time.Second}, {Start: time.Hour, End: time.Hour}} {
		if err := w.Check(); err == nil {
			t.Errorf("%v is a window", w)
		}
	}
	if err := (Window{Start: 22 * time.Hour, End: 5 * time.Hour}).Check(); err != nil {
		t.Error(err)
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	const layout = "2006-01-02 15:04"
	for name, tc := range map[string]struct {
		windows []string
		at      string
		after   time.Duration // 0: it is open
	}{
		"open":                  {[]string{"22:00-05:00"}, "2026-11-23 23:00", 0},
		"after midnight":        {[]string{"22:00-05:00"}, "2026-11-24 04:59", 0},
		"the end":               {[]string{"22:00-05:00"}, "2026-11-24 05:00", 17 * time.Hour},
		"the start":             {[]string{"22:00-05:00"}, "2026-11-24 22:00", 0},
		"before":                {[]string{"22:00-05:00"}, "2026-11-24 21:30", 30 * time.Minute},
		"second window":         {[]string{"22:00-05:00", "12:00-13:00"}, "2026-11-24 11:00", time.Hour},
		"in the second":         {[]string{"22:00-05:00", "12:00-13:00"}, "2026-11-24 12:30", 0},
		"until midnight":        {[]string{"22:00-24:00"}, "2026-11-24 00:00", 22 * time.Hour},
		"clocks go forward":     {[]string{"04:00-05:00"}, "2026-03-29 01:00", 2 * time.Hour}, // 02:00 is 03:00
		"clocks go back":        {[]string{"04:00-05:00"}, "2026-10-25 01:00", 4 * time.Hour}, // 03:00 is 02:00
		"the hour that is lost": {[]string{"02:15-02:45"}, "2026-03-29 12:00", 14*time.Hour + 15*time.Minute},
	} {
		var windows []Window
		for _, text := range tc.windows {
			w, err := Parse(text)
			fail.On(t, err)
			windows = append(windows, w)
		}
		at, err := time.ParseInLocation(layout, tc.at, berlin)
		fail.On(t, err)
		if next := Next(windows, at); next.Sub(at) != tc.after {
			t.Errorf("%s: next at %s, %v after, want %v", name, next.Format(layout), next.Sub(at), tc.after)
		}
	}
}

// TestGate checks that all goroutines wait, that each pause is reported once, and that a wait ends with its
// context at once.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		paused, resumed := 0, 0
		g := &Gate{Windows: []Window{{time.Hour, 2 * time.Hour}}, Now: func() time.Time { return time.Now().UTC() }, Paused: func(time.Time) { paused++ }, Resumed: func() { resumed++ }}
		start := time.Now() // midnight
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if err := g.Wait(t.Context()); err != nil || time.Since(start) != time.Hour {
					t.Errorf("Wait = %v after %v", err, time.Since(start))
				}
			})
		}
		wg.Wait()
		if err := g.Wait(t.Context()); err != nil || time.Since(start) != time.Hour {
			t.Errorf("Wait = %v after %v", err, time.Since(start))
		}
		<-time.After(time.Hour)
		ctx, cancel := context.WithCancelCause(t.Context())
		interrupted := errors.New("interrupted")
		go func() {
			<-time.After(time.Second)
			cancel(interrupted)
		}()
		if err := g.Wait(ctx); !errors.Is(err, interrupted) || time.Since(start) != 2*time.Hour+time.Second {
			t.Errorf("Wait = %v after %v", err, time.Since(start))
		}
		if paused != 2 || resumed != 1 {
			t.Errorf("%d pauses, %d ends of them", paused, resumed)
		}
	})
}
