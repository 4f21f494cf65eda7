package build

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// services are update services in memory: graphs by "product channel arch".
type services map[string]*graph.Graph

func (s services) Graph(_ context.Context, product release.Product, channel string, arch release.Arch) (*graph.Graph, plan.UpdateGraph, error) {
	key := fmt.Sprintf("%s %s %s", product, channel, arch)
	g := s[key]
	if g == nil {
		return nil, plan.UpdateGraph{}, fmt.Errorf("channel %s has no releases for %s", channel, arch)
	}
	return g, plan.UpdateGraph{URL: "https://updates.example.com/" + strings.ReplaceAll(key, " ", "/"), SHA256: digest.FromString(key)}, nil
}

func (services) GraphData(context.Context) (string, []byte, error) {
	return "", nil, errors.New("graph data was requested")
}

func (services) Signatures(context.Context, release.Product, digest.Digest) ([][]byte, error) {
	return nil, errors.New("signatures were requested")
}

// updateGraph makes a graph of versions and updates: "a b", "a b !Risk" with a risk for every
// cluster, or "a b ?Risk" with a risk that a query decides.
func updateGraph(t testing.TB, versions string, updates ...string) *graph.Graph {
	t.Helper()
	var nodes []graph.Node
	at := map[string]int{}
	for v := range strings.FieldsSeq(versions) {
		at[v] = len(nodes)
		nodes = append(nodes, graph.Node{Version: semver.MustParse(v), Payload: payloadOf(v)})
	}
	var plain [][2]int
	var conditional []graph.Conditional
	for _, u := range updates {
		f := strings.Fields(u)
		if len(f) == 2 {
			plain = append(plain, [2]int{at[f[0]], at[f[1]]})
			continue
		}
		rule := graph.Rule{Type: graph.Always}
		if f[2][0] == '?' {
			rule = graph.Rule{Type: graph.PromQL, PromQL: "up"}
		}
		conditional = append(conditional, graph.Conditional{
			Pairs: []graph.Pair{{From: f[0], To: f[1]}},
			Risks: []graph.Risk{{Name: f[2][1:], Message: "Beware of " + f[2][1:] + ".", URL: "https://issues.example.com/" + f[2][1:], Rules: []graph.Rule{rule}}},
		})
	}
	g, err := graph.New(nodes, plain, conditional)
	fail.On(t, err)
	return g
}

func payloadOf(version string) string {
	return "quay.io/openshift-release-dev/ocp-release@" + digest.FromString(version).String()
}

// testServices returns a channel of an even minor version that includes earlier versions, one of an
// odd minor version, and one whose releases are in no other channel.
func testServices(t testing.TB) services {
	const all = "4.18.1 4.18.2 4.19.1 4.19.2 4.19.3 4.20.0 4.20.1 4.20.2"
	updates := []string{
		"4.18.1 4.18.2", "4.18.1 4.19.1", "4.18.2 4.19.1 ?Sometimes", "4.18.2 4.19.2 !Ever", "4.18.2 4.19.3 !Ever",
		"4.19.1 4.19.2", "4.19.1 4.19.3", "4.19.2 4.20.0", "4.19.2 4.20.1 ?Sometimes", "4.19.3 4.20.2", "4.20.0 4.20.1", "4.20.1 4.20.2 !Ever",
	}
	s := services{
		"ocp stable-4.20 amd64": updateGraph(t, all, updates...),
		"ocp stable-4.20 arm64": updateGraph(t, "4.19.2 4.20.0 4.20.1", "4.19.2 4.20.1", "4.20.0 4.20.1"),
		"ocp stable-4.19 amd64": updateGraph(t, "4.18.1 4.18.2 4.19.1 4.19.2 4.19.3 4.19.9", "4.18.1 4.19.1", "4.19.1 4.19.3", "4.19.3 4.19.9"),
		"ocp stable-4.18 amd64": updateGraph(t, "4.17.5 4.18.1 4.18.2", "4.17.5 4.18.1", "4.18.1 4.18.2"),
		"ocp fast-4.21 amd64":   updateGraph(t, "4.20.2 4.20.7 4.21.0", "4.20.2 4.21.0", "4.20.7 4.21.0"),
		"ocp stable-4.9 amd64":  updateGraph(t, "4.9.0 4.9.10 4.9.9", "4.9.0 4.9.9", "4.9.9 4.9.10"),
		"okd stable amd64":      updateGraph(t, "4.20.0-okd-scos.1 4.20.0-okd-scos.10 4.20.0-okd-scos.9", "4.20.0-okd-scos.1 4.20.0-okd-scos.9", "4.20.0-okd-scos.9 4.20.0-okd-scos.10"),
	}
	return s
}

// chooseFrom selects the releases of a mirror.platform stanza.
func chooseFrom(t testing.TB, s ReleaseSource, stanza string, clusters ...Cluster) (*releaseSelection, error) {
	t.Helper()
	cfg := parseConfig(t, "  platform:\n"+stanza)
	return selectReleases(t.Context(), cfg.Mirror.Platform, s, clusters, cfg.Mirror.BlockedImages, nil)
}

// versionsOf returns the names of the selected releases, without the suffix for amd64.
func versionsOf(c *releaseSelection) string {
	all := elements.Map(c.releases, func(r *chosenRelease) string { return r.name() })
	return strings.ReplaceAll(strings.Join(all, " "), "-x86_64", "")
}

// selects checks which releases, and paths of several releases, a stanza selects. If it fails, it returns nil.
func selects(t *testing.T, name string, s ReleaseSource, stanza, fails, want string, paths []string, clusters ...Cluster) *releaseSelection {
	t.Helper()
	c, err := chooseFrom(t, s, stanza, clusters...)
	if fails != "" || err != nil {
		if err == nil || fails == "" || !strings.Contains(err.Error(), fails) {
			t.Errorf("%s: %v", name, err)
		}
		return nil
	}
	if got := versionsOf(c); got != want {
		t.Errorf("%s: selected %s, want %s", name, got, want)
	}
	got := slices.DeleteFunc(pathsOf(c), func(s string) bool { return !strings.Contains(s, " ") })
	if diff := cmp.Diff(paths, got, cmpopts.SortSlices(strings.Compare), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: paths %s", name, diff)
	}
	return c
}

// pathsOf returns the update paths, such as "4.18.1 4.19.1? 4.20.0!". "?" marks an update with a
// risk that a query decides, "!" one with a risk for every cluster.
func pathsOf(c *releaseSelection) []string {
	var all []string
	for _, u := range c.updates {
		text := u.From
		for _, h := range u.Hops {
			text += " " + h.To
			for _, r := range h.Risks {
				if r.Rules[0].Type == graph.Always {
					text += "!"
				} else {
					text += "?"
				}
			}
		}
		all = append(all, text)
	}
	return all
}
