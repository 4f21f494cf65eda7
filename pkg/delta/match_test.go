package delta

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// matchIn returns the runs of t in the window w, which is at address 1000.
func matchIn(w, t []byte, near int) []run {
	m := matcher{effort: Max.parameters(Plain)}
	m.use(&window{content: w, ranges: []span{{1000, 1000 + int64(len(w))}}, starts: []int{0, len(w)}})
	return m.match(t, near)
}

func TestMatchExtendsOverDifferences(t *testing.T) {
	t.Parallel()
	base := make([]byte, 4000) // a program has zeros
	copy(base[100:], random(1, 3000))
	target := bytes.Clone(base[200:2200])
	for i := 20; i < len(target); i += 37 {
		target[i]++
	}
	runs := matchIn(base, target, -1)
	if len(runs) != 1 || runs[0] != (run{target: 0, window: 200, length: len(target)}) {
		t.Errorf("runs %+v", runs)
	}
}

func TestMatchFindsMovedBlocks(t *testing.T) {
	t.Parallel()
	base := random(1, 3000)
	target := append(bytes.Clone(base[2000:2500]), base[500:1500]...)
	for _, near := range []int{-1, 0, 2000} {
		runs := matchIn(base, target, near)
		want := []run{{0, 2000, 500}, {500, 500, 1000}}
		if len(runs) != 2 || runs[0] != want[0] || runs[1] != want[1] {
			t.Errorf("near %d: runs %+v, want %+v", near, runs, want)
		}
	}
}

// TestMatchAddresses has short matches, which cost more than they save unless the one before is close.
func TestMatchAddresses(t *testing.T) {
	t.Parallel()
	base := append(make([]byte, 2000), random(1, 120_000)...)
	for _, tc := range []struct{ step, length, want int }{{9000, 14, 0}, {9000, 30, 10}, {300, 14, 10}} {
		target := bytes.Clone(base[:3000])
		for i := range 10 {
			from := 3000 + (i+1)*tc.step
			target = append(append(target, base[from:from+tc.length]...), 1, 2, 3, 4, 5, 6, 7, 8, 9, byte(i))
		}
		if got := len(matchIn(base, target, 0)) - 1; got != tc.want {
			t.Errorf("%+v: %d runs", tc, got)
		}
	}
}

// TestWeights has text with short matches everywhere: it becomes fewer operations than the same bytes in a program would.
func TestWeights(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	text := func() []byte {
		var b []byte
		for range 2000 {
			b = fmt.Appendf(b, "identifier%d ", r.IntN(300))
		}
		return b
	}
	base, target := text(), text()
	inText := len(matchIn(base, target, -1))
	zeros := make([]byte, len(target)/8)
	inProgram := len(matchIn(append(base, zeros...), append(target, zeros...), -1))
	if inText*2 > inProgram {
		t.Errorf("%d runs in text, %d in a program", inText, inProgram)
	}
}

func TestPredictor(t *testing.T) {
	t.Parallel()
	p := new(predictor)
	// Two calls of one function: the first tells where the function moved, which predicts the second, although that moved by another distance.
	first := change{from: 1000, at: 1100, base: 5000, target: 5300, mask: 0xffffffff}
	kinds := []uint8{p.kind(first)}
	p.learn(first)
	second := change{from: 3000, at: 3500, base: 3000, target: 2900, mask: 0xffffffff}
	kinds = append(kinds, p.kind(second))
	p.learn(second)
	// A table of addresses: each grows by the same amount.
	p.learn(change{from: 9000, at: 9000, base: 70000, target: 70016, mask: 0xffffffff})
	kinds = append(kinds, p.kind(change{from: 9004, at: 9004, base: 80000, target: 80016, mask: 0xffffffff}))
	kinds = append(kinds, p.kind(change{from: 19004, at: 29004, base: 70000, target: 70016, mask: 0xffffffff}))
	fail.Diff(t, []uint8{explicit, guessRelative, guessRecent, guessAbsolute}, kinds)
}
