package copying

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/window"
)

// TestWaitForWindow checks that a run waits outside of its windows, says so, and ends with its context.
func TestWaitForWindow(t *testing.T) {
	t.Parallel()
	var said []string
	at := time.Date(2026, 11, 23, 21, 0, 0, 0, time.UTC)
	e := &env.Env{Notice: func(text string) { said = append(said, text) }}
	ctx, cancel := context.WithCancel(t.Context())
	e.TuneWindow = func(g *window.Gate) {
		g.Every = time.Millisecond
		g.Now = func() time.Time {
			now := at
			at = at.Add(30 * time.Minute)
			return now
		}
	}
	for _, windows := range [][]window.Window{nil, {}} {
		if g, err := WaitForWindow(ctx, e, windows); g != nil || err != nil {
			t.Errorf("without windows: %v, %v", g, err)
		}
	}
	g, err := WaitForWindow(ctx, e, []window.Window{{Start: 22 * time.Hour, End: 5 * time.Hour}})
	if g == nil || err != nil {
		t.Fatalf("%v, %v", g, err)
	}
	text := strings.Join(said, "\n")
	for _, words := range []string{"outside of 22:00-05:00: transfers that run are completed, and nothing new begins until 2026-11-23 22:00", "inside of 22:00-05:00 again: continuing"} {
		if !strings.Contains(text, words) {
			t.Errorf("no %q in\n%s", words, text)
		}
	}
	cancel()
	at = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	if _, err := WaitForWindow(ctx, e, []window.Window{{Start: 22 * time.Hour, End: 5 * time.Hour}}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	for _, text := range []string{"22:00", "25:00-26:00", "nights"} {
		if _, err := ParseWindows([]string{"22:00-05:00", text}); advice.KindOf(err) != advice.Input || !strings.Contains(err.Error(), "Options.Window") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestChecksBlobs checks which rules request every blob of a destination.
func TestChecksBlobs(t *testing.T) {
	t.Parallel()
	for want, all := range map[bool][]Rules{false: {{}, {OnError: "stop", TagUntagged: true}}, true: {{CheckBlobs: true}, {ReadBlobs: true}, {RepairMissing: true}}} {
		for _, r := range all {
			if r.ChecksBlobs() != want {
				t.Errorf("%+v", r)
			}
		}
	}
}
