package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// How much may lie about before it is collected, in percent of what is in use:
// with little, as Go has it by itself, since collecting more often takes a tenth
// of the processor time of a run over many small blobs. Where more is in use, it
// is about as many bytes as roomForGarbage, as long as that is not too small a
// part.
const (
	garbage        = 100
	leastGarbage   = 20
	roomForGarbage = 16 << 20
)

// Up to how many bytes Go keeps memory that nothing is in any more, as it does by
// itself: where large pieces come and go, that is half as much again as what is in
// use. Beyond, it is given back.
const leastMemory = 112 << 20

// limitGarbage lets garbage be collected early where much is in use, unless GOGC
// says when, and memory be given back then, unless GOMEMLIMIT says when.
func limitGarbage() {
	if os.Getenv("GOGC") != "" {
		return
	}
	now := thresholds{percent: garbage, memory: debug.SetMemoryLimit(-1)}
	if os.Getenv("GOMEMLIMIT") == "" {
		now.memory = leastMemory
		debug.SetMemoryLimit(now.memory)
	}
	debug.SetGCPercent(now.percent)
	afterCollection(now)
}

// thresholds are when garbage is collected.
type thresholds struct {
	percent int
	memory  int64 // bytes
}

// afterCollection sets the limits after the next collection, and each that
// follows, to what fits then. now is what they are.
func afterCollection(now thresholds) {
	// What nobody refers to is cleaned up by a collection.
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

// memoryFor is the limit for all memory where so many bytes are in use. It is always
// well above that and the garbage beside it: a limit that cannot be kept would have
// Go collect without end.
func memoryFor(live uint64) int64 {
	return max(leastMemory, int64(live+live/4+roomForGarbage)) //nolint:gosec // no heap is that large
}

// garbageFor is the percentage where so many bytes are in use.
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
