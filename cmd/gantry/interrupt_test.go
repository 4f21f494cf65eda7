package main

import (
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestInterrupt checks when the process ends after signals, also if the run ignores them and if
// nothing reads its output.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	const second, gap = time.Second, 300 * time.Millisecond
	for name, tc := range map[string]struct {
		signals []os.Signal   // one each 300 ms
		ends    time.Duration // when the run ends after the first signal; 0 for never
		blocked bool          // the message cannot be written
		want    string        // what happened, in order
		took    time.Duration
	}{
		"no signal":            {want: "", took: 0},
		"the run ends":         {signals: []os.Signal{os.Interrupt}, ends: second, want: "cancel", took: second},
		"the run continues":    {signals: []os.Signal{os.Interrupt}, want: "cancel report exit", took: interruptLimit},
		"and cannot print":     {signals: []os.Signal{syscall.SIGTERM}, blocked: true, want: "cancel report exit", took: interruptLimit + reportLimit},
		"the signal twice":     {signals: []os.Signal{os.Interrupt, os.Interrupt}, ends: second, want: "cancel", took: gap + second},
		"a second signal":      {signals: []os.Signal{os.Interrupt, os.Interrupt, os.Interrupt}, want: "cancel exit", took: 2 * gap},
		"the terminal closes":  {signals: []os.Signal{syscall.SIGHUP, syscall.SIGHUP, syscall.SIGHUP}, want: "cancel report exit", took: interruptLimit},
		"it closes, then TERM": {signals: []os.Signal{syscall.SIGHUP, syscall.SIGHUP, syscall.SIGTERM}, want: "cancel exit", took: 2 * gap},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var happened []string
				record := func(what string) {
					mu.Lock()
					defer mu.Unlock()
					happened = append(happened, what)
				}
				signals, done, unblock := make(chan os.Signal), make(chan struct{}), make(chan struct{})
				i := &interrupter{
					limit:  interruptLimit,
					cancel: func() { record("cancel") },
					report: func() {
						record("report")
						if tc.blocked {
							<-unblock
						}
					},
					exit: func(code int) {
						if record("exit"); code != exitInterrupted {
							t.Errorf("exit status %d", code)
						}
					},
				}
				watched := make(chan struct{})
				go func() {
					defer close(watched)
					i.watch(signals, done)
				}()
				start := time.Now()
				for n, s := range tc.signals {
					if n > 0 {
						<-time.After(gap)
					}
					signals <- s
				}
				if tc.ends > 0 {
					<-time.After(tc.ends)
				}
				if tc.ends > 0 || len(tc.signals) == 0 {
					close(done)
				}
				<-watched
				if took := time.Since(start); took != tc.took || took > 2*second {
					t.Errorf("it took %v, want %v", took, tc.took)
				}
				close(unblock)
				mu.Lock()
				defer mu.Unlock()
				if got := strings.Join(happened, " "); got != tc.want {
					t.Errorf("%q, want %q", got, tc.want)
				}
			})
		})
	}
}
