package delta

import (
	"runtime"

	"github.com/klauspost/compress/zstd"
)

// effort are the parameters of an Effort. They change the bytes of a delta.
type effort struct {
	piece  int64 // bytes of the target that a worker compares at once
	window int64 // bytes of the bases that it compares them with
	step   int   // of step positions in the window, one is indexed
	tries  int   // positions with the same hash that are compared
	skip   int   // differing bytes within an alignment after which no better one is looked for
	level  zstd.EncoderLevel
	solid  int   // bytes of the window for inserted bytes, in Solid
	frame  int   // the writer ends a frame with more bytes in streams
	memory int64 // of a worker
}

const workerMemory = 96 << 20 // of all workers

// The sizes of pieces and windows are a compromise: pieces of a megabyte give deltas that are 1 or 2 % smaller, and take twice the memory.
// In Solid, which is for first archives with many blobs, Auto looks at half of the positions: the deltas are 1 % larger, and take four fifths of the time.
// The best level of zstd would make new content 5 % smaller. It takes 34 MB, and a third of the time of Max.
func (e Effort) parameters(version int) effort {
	p := effort{piece: 384 << 10, window: 1536 << 10, step: 2, tries: 2, skip: 16, level: zstd.SpeedBetterCompression, solid: solidWindow / 4, frame: 3 << 20, memory: 24 << 20}
	if e == Max {
		p.step, p.tries, p.skip, p.level, p.memory = 2, 32, 4, zstd.SpeedBestCompression, 32<<20
	}
	if version == Solid {
		p.frame, p.level = 1<<20, zstd.SpeedBetterCompression
		if e == Auto {
			p.step = 4
		}
	}
	return p
}

// workers returns how many workers run.
func (e effort) workers(wanted int) int {
	if wanted <= 0 {
		wanted = runtime.GOMAXPROCS(0)
	}
	return max(1, min(wanted, int(workerMemory/e.memory)))
}
