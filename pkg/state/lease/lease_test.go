package lease

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// A memory is a registry in memory. before, if set, is called before each operation of a run.
type memory struct {
	mu     sync.Mutex
	tags   map[string][]byte
	ops    int
	offset time.Duration // of its clock
}

func newMemory() *memory { return &memory{tags: map[string][]byte{}} }

// A side is the registry as one run sees it.
type side struct {
	*memory
	before func()
	broken error     // of every operation
	blind  time.Time // until then, it returns nothing
}

func (s *side) do(f func()) error {
	if s.before != nil {
		s.before()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ops++
	if s.broken == nil {
		f()
	}
	return s.broken
}

func (s *side) Tags(context.Context) (tags []string, err error) {
	err = s.do(func() { tags = slices.Sorted(maps.Keys(s.tags)) })
	return tags, err
}

func (s *side) Read(_ context.Context, tag string) (raw []byte, err error) {
	err = s.do(func() {
		if time.Now().After(s.blind) {
			raw = s.tags[tag]
		}
	})
	return raw, err
}

func (s *side) Write(_ context.Context, tag string, raw []byte) error {
	return s.do(func() { s.tags[tag] = raw })
}

func (m *memory) Now() time.Time { return time.Now().Add(m.offset) }

func (m *memory) current(t *testing.T) *Record {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := parse(m.tags[TagCurrent])
	fail.On(t, err)
	return r
}

func owner(host string) Options { return Options{Host: host, User: "ci", Process: 7} }

func acquire(t *testing.T, r Registry, o Options) *Lease {
	t.Helper()
	l, err := Acquire(t.Context(), r, o)
	fail.On(t, err)
	return l
}

// TestBlind waits a while for a registry to return what it accepted, and not forever.
func TestBlind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		acquire(t, &side{memory: newMemory(), blind: time.Now().Add(pollEvery)}, owner("a"))
		began := time.Now()
		_, err := Acquire(t.Context(), &side{memory: newMemory(), blind: began.Add(time.Hour)}, owner("a"))
		if err == nil || advice.KindOf(err) != advice.Failure || time.Since(began) > 2*showsWithin {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

// TestRequests checks what a run without others costs, and that the next one follows it at once.
func TestRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		for range 3 {
			m.ops = 0
			l := acquire(t, &side{memory: m}, owner("a"))
			_, release := l.Hold(t.Context())
			fail.On(t, release())
			fail.Diff(t, 6, m.ops)
		}
	})
}

func TestHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		l := acquire(t, &side{memory: m}, owner("host-a"))
		_, release := l.Hold(t.Context())
		for range 3 {
			_, err := Acquire(t.Context(), &side{memory: m}, owner("host-b"))
			var held *HeldError
			if !errors.As(err, &held) || !strings.Contains(err.Error(), "process 7 of ci on host-a since 2000-01-01T00:00:00Z") {
				t.Fatalf("Acquire = %v", err)
			}
			<-time.After(time.Hour) // it is renewed
		}
		fail.On(t, release())
		acquire(t, &side{memory: m}, owner("host-b"))
	})
}

// TestInterleavings lets two runs acquire a lease at the same time, with every order of their first
// requests, and three runs with random orders. Always exactly one of them has the lease, for as long
// as it wants.
func TestInterleavings(t *testing.T) {
	var orders [][]int
	var add func(order []int, a, b int)
	add = func(order []int, a, b int) {
		if a == 0 && b == 0 {
			orders = append(orders, append([]int(nil), order...))
			return
		}
		if a > 0 {
			add(append(order, 0), a-1, b)
		}
		if b > 0 {
			add(append(order, 1), a, b-1)
		}
	}
	add(nil, 4, 4)
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		order := []int{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		orders = append(orders, order)
	}
	for _, order := range orders {
		synctest.Test(t, func(t *testing.T) { testOrder(t, order) })
	}
}

func testOrder(t *testing.T, order []int) {
	m := newMemory()
	runs := 0
	for _, i := range order {
		runs = max(runs, i+1)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	gates := make([]chan struct{}, runs)
	var g sync.WaitGroup
	var mu sync.Mutex
	holding, refused := 0, 0
	var held []context.Context
	for i := range runs {
		gates[i] = make(chan struct{}, len(order))
		free := 4 // requests that wait for the order
		s := &side{memory: m, before: func() {
			if free--; free >= 0 {
				<-gates[i]
			}
		}}
		g.Go(func() {
			l, err := Acquire(ctx, s, owner(fmt.Sprint("host-", i)))
			mu.Lock()
			defer mu.Unlock()
			var by *HeldError
			switch {
			case errors.As(err, &by):
				refused++
			case err != nil:
				t.Errorf("%v: %v", order, err)
			default:
				holding++
				h, _ := l.Hold(ctx)
				held = append(held, h)
			}
		})
	}
	for _, i := range order {
		gates[i] <- struct{}{}
		synctest.Wait()
	}
	<-time.After(10 * time.Minute)
	mu.Lock()
	if holding != 1 || refused != runs-1 {
		t.Errorf("order %v: %d runs have the lease and %d were refused, want 1 and %d", order, holding, refused, runs-1)
	}
	for _, h := range held {
		if err := context.Cause(h); err != nil {
			t.Errorf("order %v: the lease was lost: %v", order, err)
		}
	}
	mu.Unlock()
	cancel()
	g.Wait()
}
