package archive

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// runOf returns a piece of content: size bytes, starting at offset at.
func runOf(at, size int64) piece {
	return piece{location: location{entry: &entry{Size: size, Part: &part{At: at}}}}
}

// coverSlowly is a literal version of cover: it chooses the first accepted piece that continues
// where the chosen pieces end.
func coverSlowly(pieces []piece, size int64, accept func(*piece) bool) (chosen []piece, ok bool) {
	refused := map[*entry]bool{}
	var end int64
	for end < size || len(chosen) == 0 {
		i := slices.IndexFunc(pieces, func(p piece) bool {
			if p.start() > end || p.end() <= end && size > 0 || refused[p.entry] {
				return false
			}
			refused[p.entry] = !accept(&p)
			return !refused[p.entry]
		})
		if i < 0 {
			return nil, false
		}
		chosen = append(chosen, pieces[i])
		end = pieces[i].end()
		if size == 0 {
			break
		}
	}
	return chosen, true
}

// TestCover checks that cover and coverSlowly choose the same pieces, with any overlapping, damaged
// or missing pieces, and that accept is called once for each.
func TestCover(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	whole := 0
	for range 20_000 {
		size := random.Int64N(12)
		pieces := make([]piece, random.IntN(14))
		bad := map[*entry]bool{}
		for i := range pieces {
			at := random.Int64N(size + 1)
			pieces[i] = runOf(at, random.Int64N(size-at+1))
			bad[pieces[i].entry] = random.IntN(4) == 0
		}
		asked := map[*entry]int{}
		got, ok := cover(pieces, size, func(p *piece) bool { asked[p.entry]++; return !bad[p.entry] })
		want, wantOK := coverSlowly(pieces, size, func(p *piece) bool { return !bad[p.entry] })
		same := slices.EqualFunc(got, want, func(p, q piece) bool { return p.entry == q.entry })
		if ok != wantOK || !same {
			t.Fatalf("%v, %v, want %v, %v of %v", got, ok, want, wantOK, pieces)
		}
		for _, n := range asked {
			if n > 1 {
				t.Fatalf("asked %d times about a piece", n)
			}
		}
		if ok {
			whole++
		}
	}
	if whole < 1000 || whole > 19_000 {
		t.Errorf("%d of 20,000 were whole", whole)
	}
}

// BenchmarkCover finds content in parts that are in random order, two copies of each.
func BenchmarkCover(b *testing.B) {
	for _, n := range []int64{100, 10_000, 100_000} {
		pieces := make([]piece, 0, 2*n)
		for i := range n {
			pieces = append(pieces, runOf(i, 1), runOf(i, 1))
		}
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
		b.Run(fmt.Sprintf("parts=%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, ok := cover(pieces, n, func(*piece) bool { return true }); !ok {
					b.Fatal("it is not whole")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/part")
		})
	}
}
