package picture

import (
	"fmt"
	"testing"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/platform/graph"
)

// BenchmarkDraw draws a graph of 10,000 releases with 500,000 updates, a third of them conditional:
// many times the size of real ones.
func BenchmarkDraw(b *testing.B) {
	const minors, patches, each = 20, 500, 50
	var nodes []graph.Node
	var plain [][2]int
	risky := graph.Conditional{Risks: []graph.Risk{{Name: "Risk", Rules: []graph.Rule{{Type: graph.Always}}}}}
	for i := range minors * patches {
		nodes = append(nodes, graph.Node{Version: semver.MustParse(fmt.Sprintf("4.%d.%d", i/patches, i%patches))})
		for k := 1; k <= each && k <= i; k++ {
			if k%3 == 0 {
				risky.Pairs = append(risky.Pairs, graph.Pair{From: nodes[i-k].Version.String(), To: nodes[i].Version.String()})
				continue
			}
			plain = append(plain, [2]int{i - k, i})
		}
	}
	g, err := graph.New(nodes, plain, []graph.Conditional{risky})
	if err != nil {
		b.Fatal(err)
	}
	for name, o := range map[string]Options{"folded": {}, "all": {All: true}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Draw(g, o)
			}
		})
	}
}
