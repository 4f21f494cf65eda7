package elements_test

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

type card struct{ Rank, Number int }

func byRank(a, b card) int { return cmp.Compare(a.Rank, b.Rank) }

func TestSortIsStable(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		got := make([]card, n)
		for i := range got {
			got[i] = card{Rank: random.IntN(1 + n/3), Number: i}
		}
		want := slices.Clone(got)
		slices.SortStableFunc(want, byRank)
		elements.Sort(got, byRank)
		if d := gocmp.Diff(want, got); d != "" {
			t.Fatalf("%d cards: %s", n, d)
		}
		elements.Sort(got, byRank)
		if d := gocmp.Diff(want, got); d != "" {
			t.Fatalf("%d cards in order: %s", n, d)
		}
	}
}

func TestSorted(t *testing.T) {
	t.Parallel()
	got := elements.Sorted(maps.Keys(map[string]bool{"b": true, "a": true, "c": true}), cmp.Compare[string])
	if d := gocmp.Diff([]string{"a", "b", "c"}, got); d != "" {
		t.Error(d)
	}
}

func BenchmarkSort(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	cards := make([][4]card, 100_000)
	for i := range cards {
		cards[i][0].Rank = random.Int()
	}
	compare := func(a, b [4]card) int { return byRank(a[0], b[0]) }
	for name, sort := range map[string]func([][4]card){
		"elements": func(s [][4]card) { elements.Sort(s, compare) },
		"slices":   func(s [][4]card) { slices.SortFunc(s, compare) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sort(slices.Clone(cards))
			}
		})
	}
}
