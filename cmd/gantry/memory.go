package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The garbage that accumulates before a collection, in percent of the live heap. With a small heap
// this is Go's default, because collecting more often takes a tenth of the processor time of a run
// over many small blobs. With a larger heap it is about roomForGarbage bytes, but never less than
// leastGarbage percent. The first collection waits for firstGarbage percent of Go's smallest heap, 16
// MiB: many runs end before.
const (
	firstGarbage   = 400
	garbage        = 100
	leastGarbage   = 20
	roomForGarbage = 16 << 20
)

// The memory that Go may always keep, in bytes, even if it is unused. Without a limit, Go keeps
// half as much again as is in use when large buffers come and go. With the limit, it returns memory
// beyond that to the system.
const leastMemory = 76 << 20

// limitGarbage makes Go collect garbage earlier when the heap is large, unless GOGC is set, and
// return unused memory to the system, unless GOMEMLIMIT is set.
func limitGarbage() {
	if os.Getenv("GOGC") != "" {
		return
	}
	now := thresholds{percent: firstGarbage, memory: debug.SetMemoryLimit(-1)}
	if os.Getenv("GOMEMLIMIT") == "" {
		now.memory = leastMemory
		debug.SetMemoryLimit(now.memory)
	}
	debug.SetGCPercent(now.percent)
	afterCollection(now)
}

// thresholds are the limits that decide when garbage is collected.
type thresholds struct {
	percent int
	memory  int64 // bytes
}

// afterCollection adjusts the limits after the next collection and all later ones. now contains the
// current limits.
func afterCollection(now thresholds) {
	// The object is unreachable, so the next collection runs its cleanup.
	runtime.AddCleanup(&struct{ _ [32]byte }{}, func(now thresholds) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		next := thresholds{garbageFor(live[0].Value.Uint64()), now.memory}
		if os.Getenv("GOMEMLIMIT") == "" {
			next.memory = memoryFor(live[0].Value.Uint64())
		}
		if next.percent != now.percent {
			debug.SetGCPercent(next.percent)
		}
		if next.memory != now.memory {
			debug.SetMemoryLimit(next.memory)
		}
		afterCollection(next)
	}, now)
}

// memoryFor returns the memory limit for a live heap of so many bytes. It is always well above the
// live heap with its garbage: with a limit that cannot be met, Go would collect continuously.
func memoryFor(live uint64) int64 {
	return max(leastMemory, int64(live+live/5+max(roomForGarbage/2, live/32))) //nolint:gosec // no heap is that large
}

// garbageFor returns the percentage for a live heap of so many bytes.
func garbageFor(live uint64) int {
	const most, least = roomForGarbage * 100 / garbage, roomForGarbage * 100 / leastGarbage
	switch {
	case live <= most:
		return garbage
	case live >= least:
		return leastGarbage
	}
	return int(roomForGarbage * 100 / live)
}
