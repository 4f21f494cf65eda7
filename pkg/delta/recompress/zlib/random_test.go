package zlib_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/delta/recompress/zlib"
)

// samples is how many random inputs a test compresses.
func samples(t *testing.T, long int) int {
	t.Helper()
	if testing.Short() {
		return long/100 + 1
	}
	return long
}

// randomSize is often near a place where something happens: a full block of symbols, the end
// of the window, the end of a block of pigz.
func randomSize(random *rand.Rand) int {
	near := []int{0, 258, 16383, 32506, 32768, 65274, 65536, 98304, 131072, 163840, 262144}
	if random.IntN(3) == 0 {
		return random.IntN(300_000)
	}
	return max(0, near[random.IntN(len(near))]-300+random.IntN(600))
}

// TestRandomZlib compares random inputs, sizes of calls and flushes with the zlib library of
// this machine.
func TestRandomZlib(t *testing.T) {
	t.Parallel()
	l := startLibrary(t)
	t.Log("zlib", l.version)
	for n := range samples(t, 5000) {
		random := newRandom(uint64(n))
		o := zlib.Options{Level: 1 + random.IntN(9), MemoryLevel: 8 + random.IntN(2)}
		kind := kinds[random.IntN(len(kinds))]
		data := content(kind, randomSize(random), uint64(n))
		if random.IntN(2) == 0 {
			o.WriteSize = max(1, len(data)/300) + random.IntN([]int{1, 100, 10_000, 100_000}[random.IntN(4)])
		}
		var flush []int
		for random.IntN(3) == 0 {
			flush = append(flush, random.IntN(len(data)+1))
		}
		slices.Sort(flush)
		flush = slices.Compact(flush)
		what := fmt.Sprintf("%+v, %s, %d bytes, flush %v", o, kind, len(data), flush)
		compare(t, what, compress(t, o, data, flush...), l.compress(t, o, data, flush...))
	}
}

// TestRandomStored is TestRandomZlib for level 0, where the sizes of calls decide everything.
func TestRandomStored(t *testing.T) {
	t.Parallel()
	l := startLibrary(t)
	for n := range samples(t, 2000) {
		random := newRandom(uint64(n))
		o := zlib.Options{MemoryLevel: 8 + random.IntN(2)}
		data := content("random", randomSize(random), uint64(n))
		var flush []int
		if random.IntN(4) > 0 {
			o.WriteSize = max(100, []int{random.IntN(20_000), 512, 4096, 8192, 16384, 32768, 65536, random.IntN(256 << 10)}[random.IntN(8)])
			o.OutputSize = []int{0, 0, 512, 4096, 16384, 32768, 65536, 70_000, 200_000, 256 << 10}[random.IntN(10)]
			if random.IntN(3) == 0 {
				flush = append(flush, random.IntN(len(data)+1))
			}
		}
		what := fmt.Sprintf("%+v, %d bytes, flush %v", o, len(data), flush)
		compare(t, what, compress(t, o, data, flush...), l.compress(t, o, data, flush...))
	}
}

// TestRandomPrograms compares random inputs with the programs of this machine.
func TestRandomPrograms(t *testing.T) {
	t.Parallel()
	for _, program := range []zlib.Program{zlib.Gzip, zlib.Pigz} {
		t.Run(string(program), func(t *testing.T) {
			t.Parallel()
			for n := range samples(t, 3000) {
				random := newRandom(uint64(n))
				o := zlib.Options{Program: program, Level: 1 + random.IntN(9)}
				if program == zlib.Pigz {
					o.Independent = random.IntN(3) == 0
					o.Sequential = random.IntN(3) == 0
					o.BlockSize = []int{0, 32 << 10, 33 << 10, 50 << 10, 64 << 10}[random.IntN(5)]
				}
				kind := kinds[random.IntN(len(kinds))]
				data := content(kind, randomSize(random), uint64(n))
				what := fmt.Sprintf("%+v, %s, %d bytes", o, kind, len(data))
				compare(t, what, compress(t, o, data), runProgram(t, o, data))
			}
		})
	}
}
