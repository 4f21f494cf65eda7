package path

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
)

// A trial is a small random graph with a policy for its risks.
type trial struct {
	g      *graph.Graph
	policy Policy
}

func newTrial(t *testing.T, r *rand.Rand) trial {
	t.Helper()
	pool := []string{"4.20.0-rc.1", "4.20.0", "4.20.1", "4.21.0", "4.21.1", "4.21.2", "4.22.0-rc.1", "4.22.0", "4.22.1", "5.0.0-ec.1", "5.0.0", "5.0.1", "5.1.0"}
	r.Shuffle(len(pool), func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
	pool = pool[:3+r.IntN(7)]
	risks := []graph.Risk{}
	for i := range 5 {
		rules := []graph.Rule{{Type: graph.PromQL, PromQL: "vector(1)"}}
		if i%2 == 0 {
			rules = []graph.Rule{{Type: graph.Always}}
		}
		risks = append(risks, graph.Risk{Name: string(rune('A' + i)), Rules: rules})
	}
	nodes := elements.Map(pool, func(v string) graph.Node { return graph.Node{Version: semver.MustParse(v)} })
	var plain [][2]int
	var conditional []graph.Conditional
	dense := 0.2 + 0.8*r.Float64()
	for i, from := range pool {
		for j, to := range pool {
			switch {
			case i == j || r.Float64() > dense:
			case r.IntN(2) == 0:
				plain = append(plain, [2]int{i, j})
			default:
				r.Shuffle(len(risks), func(i, j int) { risks[i], risks[j] = risks[j], risks[i] })
				conditional = append(conditional, graph.Conditional{Pairs: []graph.Pair{{From: from, To: to}}, Risks: slices.Clone(risks[:1+r.IntN(3)])})
			}
		}
	}
	g, err := graph.New(nodes, plain, conditional)
	fail.On(t, err)
	p := Policy{Mode: []Mode{"", Avoid, Ignore}[r.IntN(3)], AllowAlways: r.IntN(3) == 0}
	for _, risk := range risks {
		switch r.IntN(6) {
		case 0:
			p.Accept = append(p.Accept, risk.Name)
		case 1:
			p.Forbid = append(p.Forbid, risk.Name)
		}
	}
	return trial{g, p}
}

// all returns every path up from one node to another.
func (tr trial) all(from, to int) [][]int {
	if from == to {
		return [][]int{{to}}
	}
	var ways [][]int
	for _, e := range tr.g.From(from) {
		if int(e.To) > from {
			ways = append(ways, elements.Map(tr.all(int(e.To), to), func(rest []int) []int { return append([]int{from}, rest...) })...)
		}
	}
	return ways
}

// step is the order of minor versions in these graphs.
var step = map[string]string{"4.20": "4.21", "4.21": "4.22", "4.22": "5.0", "5.0": "5.1"}

// cost counts hops that skip a minor version, forbidden risks, risks for every cluster, queries and
// hops, in the order of the platform's rules.
func (tr trial) cost(way []int) [5]int {
	minor := func(i int) string {
		v := tr.g.Nodes[i].Version
		return fmt.Sprintf("%d.%d", v.Major, v.Minor)
	}
	c := [5]int{4: len(way) - 1}
	for i, to := range way[1:] {
		if a, b := minor(way[i]), minor(to); a != b && step[a] != b {
			c[0]++
		}
		for _, e := range tr.g.From(way[i]) {
			if int(e.To) != to {
				continue
			}
			for _, r := range tr.g.Risks(e) {
				switch {
				case slices.Contains(tr.policy.Forbid, r.Name):
					c[1]++
				case slices.Contains(tr.policy.Accept, r.Name) || tr.policy.Mode == Ignore:
				case r.Rules[0].Type == "Always":
					c[2]++
				default:
					c[3]++
				}
			}
		}
	}
	return c
}

// best returns the best path, nil if there is none; on a tie the one with the newer release at the
// first hop that differs.
func (tr trial) best(from, to int) (way []int, cost [5]int) {
	for _, w := range tr.all(from, to) {
		c := tr.cost(w)
		if by := slices.Compare(c[:], cost[:]); way == nil || by < 0 || by == 0 && slices.Compare(w, way) > 0 {
			way, cost = w, c
		}
	}
	return way, cost
}

func (tr trial) allowed(cost [5]int) bool {
	return cost[0] == 0 && cost[1] == 0 && (cost[2] == 0 || tr.policy.AllowAlways)
}

func flat(c Cost) [5]int { return [5]int{c.Skips, c.Forbidden, c.Always, c.PromQL, c.Hops} }

func (tr trial) version(i int) semver.Version { return tr.g.Nodes[i].Version }

const trials = 1500

// For any graph and policy, the path of one source is the best of all paths, and the error says if
// it is blocked or missing.
func TestFindIsBest(t *testing.T) {
	var found, blocked, none int
	for n := range uint64(trials) {
		tr := newTrial(t, rand.New(rand.NewPCG(n, 1)))
		from, to := 0, len(tr.g.Nodes)-1
		want, cost := tr.best(from, to)
		paths, err := Find(tr.g, []semver.Version{tr.version(from)}, tr.version(to), tr.policy)
		var noPath *NoPathError
		var block *BlockedError
		switch {
		case want == nil:
			none++
			if !errors.As(err, &noPath) {
				t.Fatalf("trial %d: got %v, %v, want a NoPathError", n, paths, err)
			}
			var entry *semver.Version
			for i := to - 1; i > from; i-- {
				if len(tr.all(i, to)) > 0 {
					entry = &tr.g.Nodes[i].Version
				}
			}
			fail.Diff(t, entry, noPath.Entry)
		case !tr.allowed(cost):
			blocked++
			if !errors.As(err, &block) || !slices.Equal(block.Path.Nodes, want) || flat(block.Path.Cost) != cost {
				t.Fatalf("trial %d: got %v, %v, want %v to be refused", n, paths, err, want)
			}
			if len(block.Skips) != cost[0] || (cost[1] > 0) != (len(block.Forbidden) > 0) || (cost[2] > 0 && !tr.policy.AllowAlways) != (len(block.Always) > 0) {
				t.Errorf("trial %d: %v does not name all of %v", n, err, cost)
			}
		default:
			found++
			if err != nil || len(paths) != 1 || !slices.Equal(paths[0].Nodes, want) || flat(paths[0].Cost) != cost {
				t.Fatalf("trial %d: got %v, %v, want %v, %v", n, paths, err, want, cost)
			}
		}
	}
	for name, n := range map[string]int{"found": found, "blocked": blocked, "none": none} {
		if n < trials/20 {
			t.Errorf("only %d of %d trials were %s", n, trials, name)
		}
	}
}

// With several sources, each path is as good as alone, paths that join stay together, no more
// releases are needed than for separate searches, and the order of the sources does not matter.
func TestFindSeveralIsBest(t *testing.T) {
	shared := 0
	for n := range uint64(trials) {
		r := rand.New(rand.NewPCG(n, 2))
		tr := newTrial(t, r)
		to := len(tr.g.Nodes) - 1
		var from []semver.Version
		refused, alone, together := 0, map[int]bool{}, map[int]bool{}
		for i := range to {
			if r.IntN(2) == 0 {
				continue
			}
			from = append(from, tr.version(i))
			way, cost := tr.best(i, to)
			if way == nil || !tr.allowed(cost) {
				refused++
				continue
			}
			for _, n := range way {
				alone[n] = true
			}
		}
		paths, err := Find(tr.g, from, tr.version(to), tr.policy)
		if len(all(err)) != refused || len(paths)+refused != len(from) {
			t.Fatalf("trial %d: %d paths and %d errors, want %d: %v", n, len(paths), len(all(err)), refused, err)
		}
		next := map[int]int{}
		for _, p := range paths {
			together[p.Nodes[0]] = true
			if _, cost := tr.best(p.Nodes[0], to); flat(p.Cost) != cost || tr.cost(p.Nodes) != cost {
				t.Fatalf("trial %d: %s costs %v, want %v", n, p, tr.cost(p.Nodes), cost)
			}
			for _, h := range p.Hops {
				if at, ok := next[h.FromNode]; ok && at != h.ToNode {
					t.Errorf("trial %d: from %s some go on to %s and some to %s", n, h.From, tr.version(at), h.To)
				}
				next[h.FromNode], together[h.ToNode] = h.ToNode, true
			}
		}
		if len(together) > len(alone) {
			t.Errorf("trial %d: %d releases, and %d where no path shares any", n, len(together), len(alone))
		}
		if len(together) < len(alone) {
			shared++
		}
		r.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
		again, err2 := Find(tr.g, from, tr.version(to), tr.policy)
		if diff := cmp.Diff(paths, again); diff != "" || fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("trial %d: another order of sources changes the answer: %s\n%v\n%v", n, diff, err, err2)
		}
	}
	if shared < trials/100 {
		t.Errorf("only %d trials had something to share", shared)
	}
}

// Find finds a path to everything that Reachable returns, at that cost. The alternatives of an
// error are reachable.
func TestReachableIsFound(t *testing.T) {
	for n := range uint64(trials / 3) {
		tr := newTrial(t, rand.New(rand.NewPCG(n, 3)))
		targets, err := Reachable(tr.g, tr.version(0), tr.policy)
		fail.On(t, err)
		costs := map[int]Cost{}
		for _, to := range targets {
			costs[to.Node] = to.Cost
		}
		for i := range tr.g.Nodes[1:] {
			to := i + 1
			paths, err := Find(tr.g, []semver.Version{tr.version(0)}, tr.version(to), tr.policy)
			cost, ok := costs[to]
			if ok != (err == nil) || ok && paths[0].Cost != cost {
				t.Fatalf("trial %d: %s is reachable: %t, %+v; found %v, %v", n, tr.version(to), ok, cost, paths, err)
			}
			var in Alternatives
			var noPath *NoPathError
			var block *BlockedError
			switch {
			case errors.As(err, &noPath):
				in = noPath.Alternatives
			case errors.As(err, &block):
				in = block.Alternatives
			default:
				continue
			}
			if diff := cmp.Diff(wantNeighbors(targets, to), in); diff != "" {
				t.Fatalf("trial %d, instead of %s: %s", n, tr.version(to), diff)
			}
		}
	}
}

// wantNeighbors looks up the three neighbors by brute force.
func wantNeighbors(targets []Target, to int) Alternatives {
	around := func(of []Target) Neighbors {
		pick := func(side func(Target) bool, sign int) *Target {
			left := slices.DeleteFunc(slices.Clone(of), func(t Target) bool { return !side(t) })
			if len(left) == 0 {
				return nil
			}
			best := slices.MaxFunc(left, func(a, b Target) int { return sign * (a.Node - b.Node) })
			return &best
		}
		return Neighbors{
			Below:   pick(func(t Target) bool { return t.Node < to }, 1),
			Above:   pick(func(t Target) bool { return t.Node > to }, -1),
			Highest: pick(func(Target) bool { return true }, 1),
		}
	}
	free := slices.DeleteFunc(slices.Clone(targets), func(t Target) bool { return !t.Cost.Free() })
	return Alternatives{around(targets), around(free)}
}
