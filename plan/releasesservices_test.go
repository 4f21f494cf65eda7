package plan

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/release/graph"
)

// services are update services in memory: graphs by "product channel arch".
type services map[string]*graph.Graph

func (s services) Graph(_ context.Context, product release.Product, channel string, arch release.Arch) (*graph.Graph, UpdateGraph, error) {
	key := fmt.Sprintf("%s %s %s", product, channel, arch)
	g := s[key]
	if g == nil {
		return nil, UpdateGraph{}, fmt.Errorf("channel %s has no releases for %s", channel, arch)
	}
	return g, UpdateGraph{URL: "https://updates.example.com/" + strings.ReplaceAll(key, " ", "/"), SHA256: digest.FromString(key)}, nil
}

func (services) GraphData(context.Context) (string, []byte, error) {
	return "", nil, errors.New("nobody asked for graph data")
}

func (services) Signatures(context.Context, release.Product, digest.Digest) ([][]byte, error) {
	return nil, errors.New("nobody asked for signatures")
}

// updateGraph makes a graph of versions and of updates "a b", "a b !Risk" for one
// with a risk for every cluster, or "a b ?Risk" for one that a query decides on.
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
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func payloadOf(version string) string {
	return "quay.io/openshift-release-dev/ocp-release@" + digest.FromString(version).String()
}

// testServices have a channel of an even minor version, with those before it, one
// of an odd one, and one whose releases are on no other.
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

// chooseFrom chooses of a mirror.platform stanza.
func chooseFrom(t testing.TB, s Updates, stanza string, clusters ...Cluster) (*choice, error) {
	t.Helper()
	cfg := parseConfig(t, "  platform:\n"+stanza)
	return choose(t.Context(), cfg.Mirror.Platform, s, clusters, cfg.Mirror.BlockedImages)
}

// versionsOf are what was chosen, with the reasons that are not those of a range.
func versionsOf(c *choice) string {
	var all []string
	for _, r := range c.releases {
		all = append(all, r.name())
	}
	return strings.ReplaceAll(strings.Join(all, " "), "-x86_64", "")
}

// pathsOf are the updates, "4.18.1 4.19.1? 4.20.0!": to the latter two there are
// risks that a query decides on, and risks for every cluster.
func pathsOf(c *choice) []string {
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
