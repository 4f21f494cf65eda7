package graph

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// operator returns what the cluster version operator offers a cluster that runs version from: its
// GetUpdates, step by step.
func operator(nodes []Node, plain [][2]int, groups []Conditional, from string) []string {
	type update struct {
		to    string
		risks []Risk
	}
	var updates, conditional []update
	for _, e := range plain {
		if nodes[e[0]].Version.String() == from {
			updates = append(updates, update{to: nodes[e[1]].Version.String()})
		}
	}
	for _, c := range groups {
		for _, p := range c.Pairs {
			if p.From == from {
				conditional = append(conditional, update{p.To, c.Risks})
			}
		}
	}
	// Conditional updates replace recommended ones ...
	updates = slices.DeleteFunc(updates, func(u update) bool {
		return slices.ContainsFunc(conditional, func(c update) bool { return c.to == u.to })
	})
	// ... updates with a risk without rules are dropped ...
	conditional = slices.DeleteFunc(conditional, func(c update) bool {
		return len(c.risks) == 0 || slices.ContainsFunc(c.risks, func(r Risk) bool {
			return !slices.ContainsFunc(r.Rules, func(rule Rule) bool { return rule.Type == Always || rule.Type == PromQL })
		})
	})
	// ... and so are pairs that occur more than once.
	times := map[string]int{}
	for _, c := range conditional {
		times[c.to]++
	}
	out := elements.Map(updates, func(u update) string { return from + ">" + u.to })
	for _, c := range conditional {
		if times[c.to] > 1 {
			continue
		}
		s := from + ">" + c.to
		for _, r := range c.risks {
			s += " " + r.Name
			for _, rule := range r.Rules {
				if rule.Type != "Unknown" {
					s += ":" + rule.Type
				}
			}
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestLikeTheOperator(t *testing.T) {
	rules := []Rule{{Type: Always}, {Type: PromQL, PromQL: "up"}, {Type: "Unknown"}}
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 0))
		some := func(most int) int { return r.IntN(most + 1) }
		list := make([]Node, 2+some(4))
		for i, at := range r.Perm(len(list)) {
			list[at] = nodes(fmt.Sprintf("1.0.%d", i))[0]
		}
		pair := func() [2]int {
			from := r.IntN(len(list))
			return [2]int{from, (from + 1 + r.IntN(len(list)-1)) % len(list)}
		}
		var plain [][2]int
		for range some(8) {
			plain = append(plain, pair())
		}
		var groups []Conditional
		for range some(4) {
			var c Conditional
			for range some(3) {
				p := pair()
				c.Pairs = append(c.Pairs, Pair{list[p[0]].Version.String(), list[p[1]].Version.String()})
			}
			for range some(2) {
				risk := Risk{Name: fmt.Sprint("Risk", some(2))}
				for range some(2) {
					risk.Rules = append(risk.Rules, rules[r.IntN(len(rules))])
				}
				c.Risks = append(c.Risks, risk)
			}
			groups = append(groups, c)
		}
		var want []string
		for _, n := range list {
			want = append(want, operator(list, plain, groups, n.Version.String())...)
		}
		slices.Sort(want)
		g, err := New(slices.Clone(list), plain, groups)
		fail.On(t, err)
		got := edges(g)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("graph %d (-the operator +New):\n%s\nplain %v\ngroups %+v", seed, diff, plain, groups)
		}
	}
}
