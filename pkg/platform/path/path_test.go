package path

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
)

func read(t testing.TB, file string) *graph.Graph {
	t.Helper()
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) && strings.HasPrefix(file, "..") {
		t.Skipf("no real graphs: %v", err)
	}
	fail.On(t, err)
	defer f.Close()
	g, err := graph.Read(f)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return g
}

func versions(list ...string) []semver.Version {
	all := make([]semver.Version, 0, len(list))
	all = append(all, elements.Map(list, semver.MustParse)...)
	return all
}

// names lists the risks of a path, hop by hop, with "!" for those that apply to every cluster and
// "+" for accepted ones.
func names(p Path) [][]string {
	hops := make([][]string, len(p.Hops))
	for i, h := range p.Hops {
		for _, r := range h.Risks {
			name := r.Name
			if r.Always() {
				name += "!"
			}
			if r.Accepted {
				name += "+"
			}
			hops[i] = append(hops[i], name)
		}
	}
	return hops
}

func TestFind(t *testing.T) {
	for name, tc := range map[string]struct {
		file     string
		from, to string
		policy   Policy
		want     string
		risks    [][]string
		cost     Cost
	}{
		"the newest of equal ones":             {"eus", "4.18.10", "4.20.1", Policy{}, "4.18.10 -> 4.19.10 -> 4.20.1", [][]string{nil, nil}, Cost{Hops: 2}},
		"free of risks is worth a hop":         {"eus", "4.19.15", "4.20.4", Policy{}, "4.19.15 -> 4.19.20 -> 4.20.4", [][]string{nil, nil}, Cost{Hops: 2}},
		"free of risks is worth many hops":     {"eus", "4.18.20", "4.20.4", Policy{}, "4.18.20 -> 4.18.30 -> 4.19.20 -> 4.20.4", [][]string{nil, nil, nil}, Cost{Hops: 3}},
		"an accepted risk is none":             {"eus", "4.18.20", "4.20.4", Policy{Accept: []string{"NodesReboot"}}, "4.18.20 -> 4.19.15 -> 4.20.4", [][]string{{"NodesReboot+"}, {"NodesReboot+"}}, Cost{Hops: 2}},
		"conditional where nothing else leads": {"eus", "4.18.20", "4.20.2", Policy{}, "4.18.20 -> 4.19.10 -> 4.20.2", [][]string{nil, {"RouterStalls"}}, Cost{PromQL: 1, Hops: 2}},
		"an accepted one on the way":           {"eus", "4.18.20", "4.20.2", Policy{Accept: []string{"NodesReboot"}}, "4.18.20 -> 4.19.15 -> 4.20.2", [][]string{{"NodesReboot+"}, {"RouterStalls"}}, Cost{PromQL: 1, Hops: 2}},
		"all are ignored":                      {"eus", "4.18.20", "4.20.3", Policy{Mode: Ignore}, "4.18.20 -> 4.19.15 -> 4.20.3", [][]string{{"NodesReboot+"}, {"EtcdLosesQuorum!+", "RouterStalls+"}}, Cost{Hops: 2}},
		"all but a forbidden one are ignored":  {"eus", "4.18.20", "4.20.3", Policy{Mode: Ignore, Forbid: []string{"NodesReboot"}}, "4.18.20 -> 4.19.10 -> 4.20.3", [][]string{nil, {"EtcdLosesQuorum!+", "RouterStalls+"}}, Cost{Hops: 2}},
		"a risk for all, accepted":             {"eus", "4.18.20", "4.20.3", Policy{Mode: Avoid, Accept: []string{"EtcdLosesQuorum"}}, "4.18.20 -> 4.19.10 -> 4.20.3", [][]string{nil, {"EtcdLosesQuorum!+", "RouterStalls"}}, Cost{PromQL: 1, Hops: 2}},
		"a risk for all, allowed":              {"eus", "4.18.20", "4.20.3", Policy{AllowAlways: true}, "4.18.20 -> 4.19.10 -> 4.20.3", [][]string{nil, {"EtcdLosesQuorum!", "RouterStalls"}}, Cost{Always: 1, PromQL: 1, Hops: 2}},
		"there already":                        {"eus", "4.20.4", "4.20.4", Policy{}, "4.20.4", [][]string{}, Cost{}},
		"4.22 to 5.0":                          {"major", "4.21.5", "5.0.1", Policy{}, "4.21.5 -> 4.22.1 -> 5.0.1", [][]string{nil, nil}, Cost{Hops: 2}},
		"5.0 is not left out":                  {"major", "4.22.1", "5.1.0", Policy{}, "4.22.1 -> 5.0.1 -> 5.1.0", [][]string{nil, nil}, Cost{Hops: 2}},
		"pre-releases":                         {"major", "4.22.0-rc.1", "5.0.1", Policy{}, "4.22.0-rc.1 -> 5.0.0-ec.1 -> 5.0.1", [][]string{nil, nil}, Cost{Hops: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			g := read(t, "testdata/"+tc.file+".json")
			paths, err := Find(g, versions(tc.from), semver.MustParse(tc.to), tc.policy)
			fail.On(t, err)
			if len(paths) != 1 || paths[0].String() != tc.want {
				t.Fatalf("got %v, want %s", paths, tc.want)
			}
			p := paths[0]
			fail.Diff(t, tc.risks, names(p))
			fail.Diff(t, tc.cost, p.Cost)
			for i, h := range p.Hops {
				if h.FromNode != p.Nodes[i] || h.ToNode != p.Nodes[i+1] || !g.Nodes[h.FromNode].Version.EQ(h.From) || !g.Nodes[h.ToNode].Version.EQ(h.To) {
					t.Errorf("hop %d, %s -> %s, does not say its nodes: %d, %d, path %v", i, h.From, h.To, h.FromNode, h.ToNode, p.Nodes)
				}
				if minor := h.From.Minor != h.To.Minor; h.Minor != minor {
					t.Errorf("hop %s -> %s: Minor is %t", h.From, h.To, h.Minor)
				}
			}
		})
	}
}

// Several sources share releases if that costs them nothing, whatever their order.
func TestFindSeveral(t *testing.T) {
	g := read(t, "testdata/eus.json")
	to := semver.MustParse("4.20.1")
	for name, tc := range map[string]struct{ from, want []string }{
		"alone":             {[]string{"4.18.10"}, []string{"4.18.10 -> 4.19.10 -> 4.20.1"}},
		"a hop of another":  {[]string{"4.18.10", "4.18.5", "4.18.10"}, []string{"4.18.5 -> 4.19.5 -> 4.20.1", "4.18.10 -> 4.19.5 -> 4.20.1"}},
		"another installed": {[]string{"4.19.5", "4.18.10"}, []string{"4.18.10 -> 4.19.5 -> 4.20.1", "4.19.5 -> 4.20.1"}},
		"nothing to share":  {[]string{"4.18.5", "4.18.20"}, []string{"4.18.5 -> 4.19.5 -> 4.20.1", "4.18.20 -> 4.19.10 -> 4.20.1"}},
		"the newest of two": {[]string{"4.18.5", "4.18.10", "4.18.20"}, []string{"4.18.5 -> 4.19.5 -> 4.20.1", "4.18.10 -> 4.19.10 -> 4.20.1", "4.18.20 -> 4.19.10 -> 4.20.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			from := versions(tc.from...)
			for range 2 {
				before := slices.Clone(from)
				paths, err := Find(g, from, to, Policy{})
				fail.On(t, err)
				got := elements.Map(paths, func(p Path) string { return p.String() })
				fail.Diff(t, tc.want, got)
				fail.Diff(t, before, from)
				slices.Reverse(from)
			}
		})
	}
}

func TestFindErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		file     string
		from, to string
		policy   Policy
		want     string
	}{
		"a source that is gone":         {"eus", "4.19.12", "4.20.4", Policy{}, "the update graph does not contain the installed release 4.19.12; the nearest are 4.19.10 below and 4.19.15 above"},
		"a minor that is gone":          {"eus", "4.17.3", "4.20.4", Policy{}, "the update graph does not contain the installed release 4.17.3 and has no release of 4.17; the nearest are 4.18.5 above"},
		"no such target":                {"eus", "4.18.20", "4.20.99", Policy{}, "the update graph does not contain the target 4.20.99; the nearest are 4.20.5 below"},
		"neither is there":              {"eus", "4.17.3", "4.21.0", Policy{}, "the update graph does not contain the target 4.21.0 and has no release of 4.21; the nearest are 4.20.5 below\nthe update graph does not contain the installed release 4.17.3 and has no release of 4.17; the nearest are 4.18.5 above"},
		"down":                          {"eus", "4.19.20", "4.19.5", Policy{}, "4.19.20 is newer than 4.19.5, and clusters cannot be downgraded"},
		"a dead end":                    {"eus", "4.18.40", "4.20.4", Policy{}, "there is no upgrade path from 4.18.40 to 4.20.4: the lowest release above 4.18.40 with a path is 4.19.5; it cannot update to any other release"},
		"a target without a path to it": {"eus", "4.18.20", "4.20.5", Policy{}, "there is no upgrade path from 4.18.20 to 4.20.5: no release above 4.18.20 has one either; it can update to 4.20.4, without risks to accept"},
		"a risk for all":                {"eus", "4.18.20", "4.20.3", Policy{}, "4.18.20 cannot be updated to 4.20.3: on its best path 4.18.20 -> 4.19.10 -> 4.20.3, these risks apply to every cluster: EtcdLosesQuorum; it can update to 4.20.2 with risks for some clusters, and to 4.20.1, and at most to 4.20.4, without risks to accept"},
		"a forbidden risk":              {"eus", "4.19.10", "4.20.2", Policy{Mode: Ignore, Forbid: []string{"RouterStalls"}}, "4.19.10 cannot be updated to 4.20.2: on its best path 4.19.10 -> 4.20.2, these risks are forbidden: RouterStalls; it can update to 4.20.1, and at most to 4.20.4, without risks to accept"},
		"forbidden, and for all": {"eus", "4.19.10", "4.20.3", Policy{Forbid: []string{"RouterStalls"}},
			"4.19.10 cannot be updated to 4.20.3: on its best path 4.19.10 -> 4.20.3, these risks are forbidden: RouterStalls; these risks apply to every cluster: EtcdLosesQuorum; it can update to 4.20.1, and at most to 4.20.4, without risks to accept"},
		"a minor left out":   {"major", "4.20.9", "5.0.1", Policy{}, "4.20.9 cannot be updated to 5.0.1: on its best path 4.20.9 -> 4.22.1 -> 5.0.1, 4.20.9 -> 4.22.1 skips a minor version, which no cluster accepts; it cannot update to any other release"},
		"an unknown mode":    {"eus", "4.18.20", "4.20.4", Policy{Mode: "fear"}, `unknown mode for risks "fear"; use "avoid" or "ignore"`},
		"yes and no":         {"eus", "4.18.20", "4.20.4", Policy{Accept: []string{"A", "B"}, Forbid: []string{"B"}}, `risk "B" is both accepted and forbidden; remove it from one of the lists`},
		"risks on all sides": {"eus", "4.19.15", "4.20.3", Policy{Forbid: []string{"EtcdLosesQuorum"}}, "4.19.15 cannot be updated to 4.20.3: on its best path 4.19.15 -> 4.20.3, these risks are forbidden: EtcdLosesQuorum; it can update to 4.20.2 with risks for some clusters, and to 4.19.20, and at most to 4.20.4, without risks to accept"},
	} {
		t.Run(name, func(t *testing.T) {
			paths, err := Find(read(t, "testdata/"+tc.file+".json"), versions(tc.from), semver.MustParse(tc.to), tc.policy)
			if err == nil || err.Error() != tc.want {
				t.Errorf("got %v\n%v, want\n%s", paths, err, tc.want)
			}
		})
	}
}

// Alternatives are described by their risks, the nearest first.
func TestInstead(t *testing.T) {
	at := func(patch int, cost Cost) *Target { // 4.20.patch
		return &Target{semver.Version{Major: 4, Minor: 20, Patch: uint64(patch)}, patch, cost}
	}
	free, query, always := Cost{Hops: 1}, Cost{PromQL: 1, Hops: 1}, Cost{Always: 1, Hops: 1}
	for want, in := range map[string]Alternatives{
		"it cannot update to any other release":            {},
		"it can update to 4.20.1, without risks to accept": {Neighbors{at(1, free), nil, at(1, free)}, Neighbors{at(1, free), nil, at(1, free)}},
		"it can update to 4.20.3 and 4.20.5, and at most to 4.20.9, with risks": {
			Allowed: Neighbors{at(3, query), at(5, query), at(9, query)},
		},
		"it can update to 4.20.5 with risks for some clusters, and to 4.20.3, without risks to accept": {
			Neighbors{at(3, free), at(5, query), at(9, query)}, Neighbors{at(3, free), nil, at(3, free)},
		},
		"it can update to 4.20.3 and 4.20.5 with risks, and to 4.20.8, and at most to 4.20.9, without risks to accept": {
			Neighbors{at(3, always), at(5, query), at(9, free)}, Neighbors{nil, at(8, free), at(9, free)},
		},
	} {
		fail.Diff(t, want, in.String())
	}
}

// The error contains the refused path, so that it can be drawn. Sources with a path are not
// affected by those without.
func TestFindSomeErrors(t *testing.T) {
	g := read(t, "testdata/eus.json")
	paths, err := Find(g, versions("4.18.20", "4.18.40", "4.20.3", "4.18.21"), semver.MustParse("4.20.3"), Policy{})
	if len(paths) != 1 || paths[0].String() != "4.20.3" {
		t.Errorf("got %v", paths)
	}
	errs := all(err)
	if len(errs) != 3 {
		t.Fatalf("got %d errors: %v", len(errs), err)
	}
	var missing *MissingError
	if !errors.As(errs[0], &missing) || missing.Version.String() != "4.18.21" || missing.Target || !missing.Minor {
		t.Errorf("got %#v", errs[0])
	}
	var blocked *BlockedError
	if !errors.As(errs[1], &blocked) || blocked.Path.Cost != (Cost{Always: 1, PromQL: 1, Hops: 2}) || !slices.Equal(blocked.Always, []string{"EtcdLosesQuorum"}) {
		t.Errorf("got %#v", errs[1])
	}
	var none *NoPathError
	if !errors.As(errs[2], &none) || none.Entry == nil || none.Alternatives.Allowed.Highest != nil {
		t.Errorf("got %#v", errs[2])
	}
}

func TestEmptyGraph(t *testing.T) {
	g, err := graph.New(nil, nil, nil)
	fail.On(t, err)
	if _, err := Find(g, nil, semver.MustParse("4.20.1"), Policy{}); err == nil || !strings.Contains(err.Error(), "update graph is empty") {
		t.Errorf("got %v", err)
	}
}

func TestReachable(t *testing.T) {
	g := read(t, "testdata/eus.json")
	for name, tc := range map[string]struct {
		policy Policy
		want   map[string]Cost
	}{
		"avoid": {Policy{}, map[string]Cost{"4.19.20": {Hops: 1}, "4.20.2": {PromQL: 1, Hops: 1}, "4.20.4": {Hops: 2}}},
		"allow": {Policy{AllowAlways: true}, map[string]Cost{"4.19.20": {Hops: 1}, "4.20.2": {PromQL: 1, Hops: 1}, "4.20.3": {Always: 1, PromQL: 1, Hops: 1}, "4.20.4": {Hops: 2}}},
		"forbid": {Policy{AllowAlways: true, Forbid: []string{"RouterStalls"}},
			map[string]Cost{"4.19.20": {Hops: 1}, "4.20.4": {Hops: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			targets, err := Reachable(g, semver.MustParse("4.19.15"), tc.policy)
			fail.On(t, err)
			got := map[string]Cost{}
			for _, to := range targets {
				got[to.Version.String()] = to.Cost
			}
			fail.Diff(t, tc.want, got)
		})
	}
	var missing *MissingError
	if _, err := Reachable(g, semver.MustParse("4.19.16"), Policy{}); !errors.As(err, &missing) {
		t.Errorf("got %v, want a MissingError", err)
	}
	if _, err := Reachable(g, semver.MustParse("4.19.15"), Policy{Mode: "fear"}); err == nil {
		t.Error("an unknown mode is taken")
	}
}

func TestUnknown(t *testing.T) {
	g := read(t, "testdata/eus.json")
	fail.Diff(t, []string{"EtcdLosesQuorum", "NodesReboot", "RouterStalls"}, Names(g))
	p := Policy{Accept: []string{"RouterStall", "NodesReboot", "RouterStall"}, Forbid: []string{"Etcd", "EtcdLosesQuorum"}}
	fail.Diff(t, []string{"Etcd", "RouterStall"}, Unknown(g, p))
	fail.Diff(t, []string{"RouterStall", "NodesReboot", "RouterStall"}, p.Accept)
}
