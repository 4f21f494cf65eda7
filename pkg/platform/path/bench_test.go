package path

import (
	"fmt"
	"testing"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/platform/graph"
)

// large returns a graph of 10,000 releases, 20 minor versions of 500, with 500,000 updates, two
// fifths of them conditional, and a last release without incoming updates.
func large(b *testing.B) *graph.Graph {
	b.Helper()
	const minors, patches, nodes, edges = 20, 500, 10_000, 500_000
	releases := make([]graph.Node, 0, nodes)
	for i := range nodes {
		releases = append(releases, graph.Node{Version: semver.Version{Major: 4, Minor: uint64(i / patches), Patch: uint64(i % patches)}})
	}
	releases = append(releases, graph.Node{Version: semver.Version{Major: 4, Minor: minors}})
	var conditional []graph.Conditional
	for i := range 200 {
		rule := graph.Rule{Type: graph.PromQL, PromQL: "vector(1)"}
		if i%3 == 0 {
			rule = graph.Rule{Type: graph.Always}
		}
		conditional = append(conditional, graph.Conditional{Risks: []graph.Risk{{Name: fmt.Sprintf("Risk%d", i), Rules: []graph.Rule{rule}}}})
	}
	var plain [][2]int
	n := 0
	for k := 1; n < edges; k++ {
		for i := 0; i < nodes && n < edges; i++ {
			to := i + k // by patches
			if k%2 == 0 {
				to = i + patches + k - 30 // by a minor version, mostly
			}
			if to >= nodes {
				continue
			}
			if n++; n%5 < 3 {
				plain = append(plain, [2]int{i, to})
				continue
			}
			c := &conditional[(i/50+k)%len(conditional)]
			c.Pairs = append(c.Pairs, graph.Pair{From: releases[i].Version.String(), To: releases[to].Version.String()})
		}
	}
	g, err := graph.New(releases, plain, conditional)
	if err != nil {
		b.Fatal(err)
	}
	return g
}

func BenchmarkFind(b *testing.B) {
	g := large(b)
	for _, sources := range []int{1, 20} {
		var from []semver.Version
		for i := range sources {
			from = append(from, g.Nodes[i*5].Version)
		}
		for name, policy := range map[string]Policy{"avoid": {AllowAlways: true}, "ignore": {Mode: Ignore}} {
			b.Run(fmt.Sprintf("sources=%d/%s", sources, name), func(b *testing.B) {
				for b.Loop() {
					if paths, err := Find(g, from, g.Nodes[g.Head()-1].Version, policy); err != nil || len(paths) != sources {
						b.Fatalf("%d paths: %v", len(paths), err)
					}
				}
			})
		}
		// For a source without a path, everything that it can reach is searched.
		b.Run(fmt.Sprintf("sources=%d/refused", sources), func(b *testing.B) {
			for b.Loop() {
				if _, err := Find(g, from, g.Nodes[g.Head()].Version, Policy{}); len(all(err)) != sources {
					b.Fatal(err)
				}
			}
		})
	}
}
