package lease

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestStale checks that the lease of a killed run is taken over when it was not renewed for ten
// minutes by the registry's clock, whatever the clocks of the runs are.
func TestStale(t *testing.T) {
	for name, tc := range map[string]struct {
		after time.Duration // since the run was killed
		back  time.Duration // by how much the registry's clock was set back meanwhile
		ended bool          // the run is known to have ended
		taken bool
		took  time.Duration
	}{
		"at once":              {after: time.Second},
		"after nine minutes":   {after: 9 * time.Minute},
		"after eleven minutes": {after: 11 * time.Minute, taken: true},
		"known to have ended":  {after: time.Second, ended: true, taken: true},
		"clock set back":       {after: time.Minute, back: time.Hour, taken: true, took: 2 * tieWait},
		"slightly back":        {after: time.Second, back: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				killed := acquire(t, &side{memory: m}, owner("a"))
				<-time.After(tc.after)
				m.offset = -tc.back
				o, start := owner("b"), time.Now()
				var from Record
				o.TookOver = func(r Record) { from = r }
				o.Ended = func(r Record) bool { return tc.ended && r.ID == killed.self.ID }
				_, err := Acquire(t.Context(), &side{memory: m}, o)
				if tc.taken != (err == nil) || tc.taken != (from.Host == "a") {
					t.Errorf("Acquire = %v, taken over from %q", err, from.Host)
				}
				fail.Diff(t, tc.took, time.Since(start))
			})
		})
	}
}

// TestFuture checks that a run that is running keeps its lease if the clock was set back.
func TestFuture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		_, release := acquire(t, &side{memory: m}, owner("a")).Hold(t.Context())
		m.offset = -time.Hour
		var held *HeldError
		if _, err := Acquire(t.Context(), &side{memory: m}, owner("b")); !errors.As(err, &held) {
			t.Errorf("Acquire = %v", err)
		}
		fail.On(t, release())
	})
}

// TestLost checks that a run that was suspended ends when another one took its lease over, and does
// not change the lease of that one.
func TestLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		suspended := make(chan struct{})
		s := &side{memory: m}
		l := acquire(t, s, owner("a"))
		s.before = func() { <-suspended }
		ctx, release := l.Hold(t.Context())
		<-time.After(11 * time.Minute)
		next := acquire(t, &side{memory: m}, owner("b"))
		_, releaseNext := next.Hold(t.Context())
		close(suspended)
		<-ctx.Done()
		var lost *LostError
		if err := context.Cause(ctx); !errors.As(err, &lost) || lost.To.Host != "b" {
			t.Errorf("the run ended with %v", err)
		}
		fail.On(t, release())
		if r := m.current(t); r.Host != "b" || r.Released {
			t.Errorf("the lease has %+v", r)
		}
		fail.On(t, releaseNext())
	})
}

// TestLostAtRelease checks that a run that was suspended before its end does not release the lease of
// the run that took it over.
func TestLostAtRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		l := acquire(t, &side{memory: m}, owner("a"))
		<-time.After(11 * time.Minute)
		acquire(t, &side{memory: m}, owner("b"))
		_, release := l.Hold(t.Context())
		fail.On(t, release())
		if r := m.current(t); r.Host != "b" || r.Released {
			t.Errorf("the lease has %+v", r)
		}
	})
}

// TestRenewalFails checks that a run continues while its lease cannot be renewed, warns once, and
// restores a lease that the registry lost.
func TestRenewalFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		s, warnings := &side{memory: m}, 0
		o := owner("a")
		o.Warn = func(error) { warnings++ }
		ctx, release := acquire(t, s, o).Hold(t.Context())
		m.mu.Lock()
		s.broken = errors.New("down")
		m.mu.Unlock()
		<-time.After(5 * time.Minute)
		m.mu.Lock()
		s.broken = nil
		delete(m.tags, TagCurrent)
		m.mu.Unlock()
		<-time.After(time.Minute)
		if r := m.current(t); r.Host != "a" || warnings != 1 || ctx.Err() != nil {
			t.Errorf("the lease has %+v, %d warnings, %v", r, warnings, ctx.Err())
		}
		fail.On(t, release())
	})
}

// TestInterrupted checks that a lease is released after an interruption, and that one that waits ends
// at once.
func TestInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		ctx, cancel := context.WithCancel(t.Context())
		_, release := acquire(t, &side{memory: m}, owner("a")).Hold(ctx)
		cancel()
		if err := release(); err != nil || !m.current(t).Released {
			t.Errorf("release = %v, the lease has %+v", err, m.current(t))
		}
		acquire(t, &side{memory: m}, owner("b"))
		m.offset = -time.Hour // the next one waits
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if _, err := Acquire(ctx, &side{memory: m}, owner("c")); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("Acquire = %v after %v", err, time.Since(start))
		}
	})
}

func FuzzParse(f *testing.F) {
	raw, err := (&Record{ID: "a", Host: "h", User: "u", Process: 1, Since: time.Unix(1, 0), Renewed: time.Unix(2, 3), Attempt: 1}).Manifest()
	fail.On(f, err)
	f.Add(raw)
	f.Add([]byte(`{"artifactType":"application/vnd.gantry.lease.v1","annotations":{"vnd.gantry.lease.id":"x"}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := parse(raw)
		if err != nil {
			return
		}
		again, err := r.Manifest()
		fail.On(t, err)
		s, err := parse(again)
		if err != nil || *s != *r {
			t.Fatalf("%+v is read back as %+v, %v", r, s, err)
		}
	})
}
