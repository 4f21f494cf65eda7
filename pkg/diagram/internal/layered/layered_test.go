package layered_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/diagram/internal/layered"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

const width = 1300

// box is the size of a box in these tests.
var box = layered.Size{W: 140, H: 44}

func graph(n int, edges ...layered.Edge) layered.Graph {
	g := layered.Graph{Width: width, Head: 7, Edges: edges}
	for range n {
		g.Boxes = append(g.Boxes, box)
	}
	return g
}

func edge(from, to, class, weight int) layered.Edge {
	return layered.Edge{From: from, To: to, Class: class, Weight: weight}
}

func chain(n int) layered.Graph {
	g := graph(n)
	for i := 1; i < n; i++ {
		g.Edges = append(g.Edges, edge(i-1, i, 0, 3))
	}
	return g
}

// star returns a chain whose boxes all lead to the last one, too.
func star(n int) layered.Graph {
	g := chain(n)
	for i := range n - 2 {
		g.Edges = append(g.Edges, edge(i, n-1, 1, 1))
	}
	return g
}

// random returns a random graph with cycles, labels and boxes of two sizes.
func random(r *rand.Rand, n, edges int) layered.Graph {
	g := graph(n)
	for i := range g.Boxes {
		if r.IntN(5) == 0 {
			g.Boxes[i] = layered.Size{W: 200, H: 60}
		}
	}
	for range edges {
		e := edge(r.IntN(n), r.IntN(n), r.IntN(3), 1+2*r.IntN(2))
		if e.From > e.To && r.IntN(8) > 0 {
			e.From, e.To = e.To, e.From
		}
		if e.Class == 2 {
			e.Label = layered.Size{W: 60, H: 12}
		}
		g.Edges = append(g.Edges, e)
	}
	return g
}

func TestLayIsSound(t *testing.T) {
	for name, g := range map[string]layered.Graph{
		"nothing": graph(0), "one": graph(1), "five apart": graph(5), "chain": chain(150), "star": star(60),
		"loop": graph(1, edge(0, 0, 0, 1)), "cycle": graph(3, edge(0, 1, 0, 1), edge(1, 2, 0, 1), edge(2, 0, 0, 1)),
		"wide box": {Width: 100, Boxes: []layered.Size{{W: 500, H: 20}, {W: 500, H: 20}}, Edges: []layered.Edge{edge(0, 1, 0, 1)}},
	} {
		t.Run(name, func(t *testing.T) { sound(t, g, layered.Layout(g)) })
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 100 {
		n := 1 + r.IntN(60)
		g := random(r, n, r.IntN(2*n))
		t.Run(fmt.Sprintf("random %d", i), func(t *testing.T) { sound(t, g, layered.Layout(g)) })
	}
}

// sound checks the guarantees of the package.
func sound(t *testing.T, g layered.Graph, r layered.Result) {
	t.Helper()
	inside := func(b layered.Rect) bool {
		return b.X >= 0 && b.Y >= 0 && b.X+b.W <= r.Width+1 && b.Y+b.H <= r.Height+1
	}
	for i, b := range r.Boxes {
		if b.W != g.Boxes[i].W || b.H != g.Boxes[i].H || !inside(b) {
			t.Fatalf("box %d is %+v in %v x %v", i, b, r.Width, r.Height)
		}
		for j, o := range r.Boxes[:i] {
			if b.X < o.X+o.W && o.X < b.X+b.W && b.Y-g.Head < o.Y+o.H && o.Y-g.Head < b.Y+b.H {
				t.Fatalf("boxes %d and %d overlap: %+v, %+v", j, i, o, b)
			}
		}
	}
	framed := map[int]layered.Rect{}
	for _, f := range r.Frames {
		for _, m := range f.Members {
			b := r.Boxes[m]
			if b.X < f.X || b.Y < f.Y || b.X+b.W > f.X+f.W || b.Y+b.H > f.Y+f.H {
				t.Fatalf("box %d at %+v is out of its frame %+v", m, b, f.Rect)
			}
			framed[m] = f.Rect
		}
	}
	obstacles := map[int]layered.Rect{}
	for i, b := range r.Boxes {
		obstacles[i] = b
		if f, ok := framed[i]; ok {
			obstacles[i] = f
		}
	}
	soundRoutes(t, g, r, obstacles)
}

// soundRoutes checks that each edge has one line from box to box, which runs over no other box.
func soundRoutes(t *testing.T, g layered.Graph, r layered.Result, obstacles map[int]layered.Rect) {
	t.Helper()
	routed := map[int]bool{}
	for _, route := range r.Routes {
		for _, e := range route.Edges {
			if routed[e] {
				t.Fatalf("edge %d has two lines", e)
			}
			routed[e] = true
		}
		e := g.Edges[route.Edges[0]]
		tip, tail := obstacles[e.To], obstacles[e.From]
		points := sample(route.Path)
		wantTip, wantTail := tip.X, tail.X+tail.W
		if route.Backward {
			wantTip, wantTail = tip.X+tip.W, tail.X
		}
		first, last := points[0], points[len(points)-1]
		if first.X != wantTip || first.Y < tip.Y || first.Y > tip.Y+tip.H {
			t.Fatalf("the tip of edge %d is at %+v, its box at %+v", route.Edges[0], first, tip)
		}
		if last.X != wantTail || last.Y < tail.Y || last.Y > tail.Y+tail.H {
			t.Fatalf("edge %d begins at %+v, its box is at %+v", route.Edges[0], last, tail)
		}
		for _, p := range points {
			for i, b := range obstacles {
				if p.X > b.X+1 && p.X < b.X+b.W-1 && p.Y > b.Y+1 && p.Y < b.Y+b.H-1 {
					t.Fatalf("edge %d runs over box %d: %+v in %+v", route.Edges[0], i, p, b)
				}
			}
			if p.X < -1 || p.Y < -1 || p.X > r.Width+1 || p.Y > r.Height+1 {
				t.Fatalf("edge %d leaves the page at %+v of %v x %v", route.Edges[0], p, r.Width, r.Height)
			}
		}
	}
	for i, e := range g.Edges {
		if e.From != e.To && !routed[i] {
			t.Fatalf("edge %d has no line", i)
		}
	}
}

// sample returns points along a path.
func sample(p layered.Path) []layered.Point {
	points := []layered.Point{p.Start}
	from := p.Start
	for _, s := range p.Segments {
		c1, c2 := s.C1, s.C2
		if s.Straight {
			c1, c2 = from, s.To
		}
		for i := 1; i <= 8; i++ {
			u, v := float64(i)/8, 1-float64(i)/8
			points = append(points, layered.Point{
				X: v*v*v*from.X + 3*v*v*u*c1.X + 3*v*u*u*c2.X + u*u*u*s.To.X,
				Y: v*v*v*from.Y + 3*v*v*u*c1.Y + 3*v*u*u*c2.Y + u*u*u*s.To.Y,
			})
		}
		points[len(points)-1] = s.To
		from = s.To
	}
	return points
}

func TestLayIsDeterministic(t *testing.T) {
	for seed := range uint64(20) {
		g := random(rand.New(rand.NewPCG(seed, 7)), 50, 90)
		want := layered.Layout(g)
		for range 3 {
			fail.Diff(t, want, layered.Layout(g))
		}
	}
}

// A chain is wrapped like text: rows of similar length from the left, each line level.
func TestChainIsWrapped(t *testing.T) {
	r := layered.Layout(chain(150))
	rows := map[float64]int{}
	for i, b := range r.Boxes {
		rows[b.Y]++
		if i > 0 && b.Y == r.Boxes[i-1].Y && b.X <= r.Boxes[i-1].X {
			t.Errorf("box %d is left of the previous one", i)
		}
		if i > 0 && b.Y < r.Boxes[i-1].Y {
			t.Errorf("box %d is above the previous one", i)
		}
	}
	if r.Width > width || r.Height > 2000 || len(rows) > 22 {
		t.Errorf("150 boxes take %v x %v in %d rows", r.Width, r.Height, len(rows))
	}
}

// The heaviest path is straight although other boxes are between.
func TestSpineIsLevel(t *testing.T) {
	// 0 -> 3 has the weight; 1 and 2 come from 0 and lead to 3 as well.
	r := layered.Layout(graph(4, edge(0, 1, 0, 3), edge(0, 2, 0, 3), edge(0, 3, 0, 3), edge(1, 3, 1, 1), edge(2, 3, 1, 1)))
	if y := r.Boxes[0].Y; r.Boxes[3].Y != y || r.Boxes[1].Y == y || r.Boxes[2].Y == y {
		t.Errorf("got %+v", r.Boxes)
	}
}

func TestTwinsShareAFrame(t *testing.T) {
	g := graph(26)
	for i := range 25 {
		g.Edges = append(g.Edges, edge(i, 25, 0, 1))
	}
	r := layered.Layout(g)
	if len(r.Frames) != 1 || len(r.Frames[0].Members) != 25 || len(r.Routes) != 1 || len(r.Routes[0].Edges) != 25 {
		t.Errorf("got %d frames and %d lines", len(r.Frames), len(r.Routes))
	}
	if ratio := r.Frames[0].W / r.Frames[0].H; ratio < 1 || ratio > 3.5 {
		t.Errorf("the frame is %v x %v", r.Frames[0].W, r.Frames[0].H)
	}
}

func TestLabelsCoverNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	labelled := 0
	for range 40 {
		g := random(r, 20, 30)
		result := layered.Layout(g)
		var texts []layered.Rect
		for _, route := range result.Routes {
			if !route.Labelled {
				continue
			}
			labelled++
			size := g.Edges[route.Edges[0]].Label
			text := layered.Rect{X: route.Label.X - size.W/2, Y: route.Label.Y - size.H/2, W: size.W, H: size.H}
			for _, o := range append(texts, result.Boxes...) {
				if text.X < o.X+o.W && o.X < text.X+text.W && text.Y < o.Y+o.H && o.Y < text.Y+text.H {
					t.Fatalf("a label at %+v covers %+v", text, o)
				}
			}
			texts = append(texts, text)
		}
	}
	if labelled < 100 {
		t.Errorf("only %d labels found a place", labelled)
	}
}
