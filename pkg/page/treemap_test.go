package page

import (
	"fmt"
	"math"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestSquarify checks that tiles fill the rectangle, do not overlap, have areas in proportion, and are not slivers.
func TestSquarify(t *testing.T) {
	t.Parallel()
	for _, values := range [][]int64{{1}, {6, 6, 4, 3, 2, 2, 1}, {1000, 1, 1, 1}, {5, 5, 5, 5}, {1 << 40, 1 << 39, 7}} {
		var tiles []Tile
		var sum float64
		for i, v := range values {
			tiles = append(tiles, Tile{Name: fmt.Sprint(i), Value: v})
			sum += float64(v)
		}
		placed := squarify(tiles, 0, 0, mapWidth, mapHeight)
		if len(placed) != len(values) {
			t.Fatalf("%v: %d tiles", values, len(placed))
		}
		for i, a := range placed {
			want := mapWidth * mapHeight * float64(a.Value) / sum
			if math.Abs(a.w*a.h-want) > want*1e-6 {
				t.Errorf("%v: tile %d has the area %f, want %f", values, i, a.w*a.h, want)
			}
			if a.x < 0 || a.y < 0 || a.x+a.w > mapWidth+1e-6 || a.y+a.h > mapHeight+1e-6 {
				t.Errorf("%v: tile %d is outside: %+v", values, i, a)
			}
			for _, b := range placed[:i] {
				if min(a.x+a.w, b.x+b.w)-max(a.x, b.x) > 1e-6 && min(a.y+a.h, b.y+b.h)-max(a.y, b.y) > 1e-6 {
					t.Errorf("%v: tiles overlap: %+v and %+v", values, a, b)
				}
			}
		}
	}
	// The example of the authors has no ratio above 3 in a rectangle of 6 by 4.
	for _, p := range squarify([]Tile{{Value: 6}, {Value: 6}, {Value: 4}, {Value: 3}, {Value: 2}, {Value: 2}, {Value: 1}}, 0, 0, 6, 4) {
		if r := max(p.w/p.h, p.h/p.w); r > 3 {
			t.Errorf("tile of %d: %f by %f", p.Value, p.w, p.h)
		}
	}
}

func TestManyTiles(t *testing.T) {
	t.Parallel()
	m := Treemap{Tiles: []Tile{{Name: "nothing"}}}
	for i := range maxTiles + 120 {
		m.Tiles = append(m.Tiles, Tile{Name: fmt.Sprint(i), Value: int64(i + 1)})
	}
	placed := m.place(func(n int64) string { return fmt.Sprint(n) })
	last := placed[len(placed)-1]
	fail.Diff(t, []any{maxTiles, "759", "121 more", "7381"}, []any{len(placed), placed[0].Name, last.Name, last.Text})
}

func TestFit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text string
		w, h float64
		want string
	}{
		{"cert-manager", 200, 50, "cert-manager"}, {"cert-manager", 80, 50, "cert-ma…"}, {"cert-manager", 40, 50, ""}, {"cert-manager", 200, 10, ""},
		{"ab", 30, 50, ""}, {"日本語です", 200, 50, "日本語です"},
	} {
		fail.Diff(t, tc.want, fit(tc.text, tc.w, tc.h, 26, nameWidth))
	}
}
