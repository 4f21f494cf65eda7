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

// limitGarbage lets garbage be collected early where much is in use, unless GOGC
// says when.
func limitGarbage() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
		afterCollection(garbage)
	}
}

// afterCollection sets the percentage after the next collection, and each that
// follows, to what fits then. now is what it is.
func afterCollection(now int) {
	// What nobody refers to is cleaned up by a collection.
	runtime.AddCleanup(&struct{ _ [32]byte }{}, func(now int) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		percent := garbageFor(live[0].Value.Uint64())
		if percent != now {
			debug.SetGCPercent(percent)
		}
		afterCollection(percent)
	}, now)
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
