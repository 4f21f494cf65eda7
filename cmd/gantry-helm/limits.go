package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/gantry-mirror/gantry/pkg/chart/render"
)

// maxStack limits the stack of a goroutine in bytes: templates and values can nest without end.
const maxStack = 128 << 20

// limits ends the process if a chart needs too much memory or time. Nothing can interrupt a template
// from within the process.
type limits struct {
	memory uint64 // bytes
	time   time.Duration
	exit   func(status int)

	mu    sync.Mutex
	timer *time.Timer
}

func newLimits(memory uint64, d time.Duration, exit func(int)) *limits {
	return &limits{memory: memory, time: d, exit: exit}
}

// start begins to watch the memory. The system enforces twice the limit where it can, for a single
// allocation that is too large to be noticed in time.
func (l *limits) start() error {
	debug.SetMaxStack(maxStack)
	debug.SetMemoryLimit(int64(min(l.memory, 1<<40) * 3 / 4))
	if err := limitData(l.memory * 2); err != nil {
		return err
	}
	go l.watch()
	return nil
}

// watch ends the process if it has more memory than the limit.
func (l *limits) watch() {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for range time.Tick(20 * time.Millisecond) {
		metrics.Read(sample)
		if sample[0].Value.Uint64()-sample[1].Value.Uint64() > l.memory {
			l.exit(render.ExitMemory)
		}
	}
}

// begin limits the time of a request, until end.
func (l *limits) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(l.time, func() { l.exit(render.ExitTime) })
}

func (l *limits) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer.Stop()
	runtime.GC() // the next chart begins with all of the memory
}
