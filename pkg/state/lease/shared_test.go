package lease

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// shard returns the options of a run that copies a shard of a plan.
func shard(host, plan, shard string) Options {
	o := owner(host)
	o.Group, o.Shard = plan, shard
	return o
}

// TestShards checks which runs share a registry with shards, one after the other.
func TestShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		refused := func(o Options, by string) {
			t.Helper()
			_, err := Acquire(t.Context(), &side{memory: m}, o)
			var held *HeldError
			if !errors.As(err, &held) || !strings.Contains(err.Error(), by) {
				t.Errorf("Acquire = %v, want a refusal because of %s", err, by)
			}
		}
		_, releaseAll := acquire(t, &side{memory: m}, owner("all")).Hold(t.Context())
		refused(shard("a", "A", "1/2"), "ci on all since")
		fail.On(t, releaseAll())
		one, releaseOne := acquire(t, &side{memory: m}, shard("a", "A", "1/2")).Hold(t.Context())
		_, releaseTwo := acquire(t, &side{memory: m}, shard("b", "A", "2/2")).Hold(t.Context())
		for range 2 {
			refused(owner("all"), "for shard 1/2 on a since")
			refused(shard("c", "B", "1/2"), "for shard 1/2 on a since")
			refused(shard("c", "B", "3/3"), "for shard 1/2 on a since")
			<-time.After(time.Hour) // they are renewed
		}
		fail.On(t, context.Cause(one))
		<-time.After(10 * time.Second) // not in the moment in which the first run renews its lease
		_, releaseAgain := acquire(t, &side{memory: m}, shard("d", "A", "1/2")).Hold(t.Context())
		<-time.After(time.Minute)
		var lost *LostError
		if err := context.Cause(one); !errors.As(err, &lost) || lost.To.Host != "d" {
			t.Errorf("the first run of a shard ended with %v", err)
		}
		for _, release := range []func() error{releaseOne, releaseTwo} {
			fail.On(t, release())
		}
		refused(owner("all"), "for shard 1/2 on d since")
		fail.On(t, releaseAgain())
		_, releaseAll = acquire(t, &side{memory: m}, owner("all")).Hold(t.Context())
		fail.On(t, releaseAll())
		acquire(t, &side{memory: m}, shard("c", "B", "3/3"))
	})
}

// TestShardsStale checks that runs which were killed do not keep others out, and end if they were only
// suspended.
func TestShardsStale(t *testing.T) {
	for _, kinds := range [][2]Options{
		{shard("a", "A", "1/2"), owner("b")},
		{owner("a"), shard("b", "A", "1/2")},
		{shard("a", "A", "1/2"), shard("b", "B", "2/3")},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			suspended := acquire(t, &side{memory: m}, kinds[0])
			var from string
			second := kinds[1]
			second.TookOver = func(r Record) { from = r.Host }
			<-time.After(9 * time.Minute)
			var held *HeldError
			if _, err := Acquire(t.Context(), &side{memory: m}, second); !errors.As(err, &held) {
				t.Errorf("after nine minutes: Acquire = %v", err)
			}
			<-time.After(2 * time.Minute)
			acquire(t, &side{memory: m}, second)
			fail.Diff(t, "a", from)
			var lost *LostError
			if err := suspended.renew(t.Context()); !errors.As(err, &lost) || lost.To.Host != "b" {
				t.Errorf("the suspended run renews its lease: %v", err)
			}
		})
	}
}

// TestShardInterleavings begins runs of shards of two plans, and one that shares with none, at the same
// time, with random orders of their requests. All that have a lease may share the registry.
func TestShardInterleavings(t *testing.T) {
	kinds := []Options{owner("all"), shard("a1", "A", "1/2"), shard("a2", "A", "2/2"), shard("b1", "B", "1/2"), shard("a1 again", "A", "1/2")}
	r := rand.New(rand.NewPCG(1, 2))
	several := 0
	for range 1500 {
		var order []int
		runs := 2 + r.IntN(len(kinds)-1)
		chosen := r.Perm(len(kinds))[:runs]
		for i := range runs {
			for range 10 {
				order = append(order, i)
			}
		}
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			gates := make([]chan struct{}, runs)
			var g sync.WaitGroup
			var mu sync.Mutex
			var holding []Options
			var leased []context.Context
			for i := range runs {
				gates[i] = make(chan struct{}, len(order))
				free := 10 // requests that wait for the order
				s := &side{memory: m, before: func() {
					if free--; free >= 0 {
						<-gates[i]
					}
				}}
				g.Go(func() {
					l, err := Acquire(ctx, s, kinds[chosen[i]])
					if err != nil {
						if !errors.As(err, new(*HeldError)) {
							t.Error(err)
						}
						return
					}
					held, _ := l.Hold(ctx)
					mu.Lock()
					defer mu.Unlock()
					leased = append(leased, held)
					holding = append(holding, kinds[chosen[i]])
				})
			}
			for _, i := range order {
				gates[i] <- struct{}{}
				synctest.Wait()
			}
			<-time.After(5 * time.Minute)
			mu.Lock()
			var names, group string
			shards := map[string]int{}
			for i, o := range holding {
				if leased[i].Err() != nil {
					continue // another run of this shard replaced it
				}
				names, group = names+o.Host+" ", o.Group
				shards[o.Group+" "+o.Shard]++
			}
			for name, n := range shards {
				if n > 1 || !strings.HasPrefix(name, group) || group == "" && len(shards) > 1 {
					t.Errorf("order %v: %s have leases at the same time", order, names)
				}
			}
			if len(shards) > 1 {
				several++
			}
			mu.Unlock()
			cancel()
			g.Wait()
		})
	}
	if several < 50 {
		t.Errorf("shards of one plan had leases together only %d times", several)
	}
}
