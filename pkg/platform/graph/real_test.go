package graph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRealGraphs compares recorded graphs with counts taken from their JSON.
func TestRealGraphs(t *testing.T) {
	if testing.Short() {
		t.Skip("reads real data")
	}
	const dir = "../../../../shared/graphs"
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		t.Skip("there are no real graphs beside the checkout")
	}
	both := map[string]int{"amd64-stable-4.13.json": 136}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.json"))
	if err != nil || len(files) < 11 {
		t.Fatalf("%d graphs, %v", len(files), err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want, doubles := count(t, raw)
			if doubles != both[filepath.Base(path)] {
				t.Errorf("%d pairs are in both lists", doubles)
			}
			g, err := Read(bytes.NewReader(raw))
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for i, n := range g.Nodes {
				got[n.Version.String()] = n.Payload + strings.Join(n.Channels, ",")
				for _, e := range g.From(i) {
					pair := fmt.Sprintf("%s>%s", n.Version, g.Nodes[e.To].Version)
					for _, r := range g.Risks(e) {
						got[pair] += r.Name + r.Message + r.Rules[0].PromQL + "|"
					}
					if e.Group < 0 {
						got[pair] = "recommended"
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			again, err := Read(bytes.NewReader(written(t, g)))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(g, again) {
				t.Error("what is written is read back as another graph")
			}
		})
	}
}

// count returns the nodes and updates of a graph, and how many updates are in both lists.
func count(t *testing.T, raw []byte) (map[string]string, int) {
	var a struct {
		Nodes []struct {
			Version, Payload string
			Metadata         map[string]string
		}
		Edges            [][]int
		ConditionalEdges []struct {
			Edges []struct{ From, To string }
			Risks []struct {
				Name, Message string
				MatchingRules []struct{ PromQL struct{ PromQL string } }
			}
		}
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		t.Fatal(err)
	}
	out, doubles := map[string]string{}, 0
	for _, n := range a.Nodes {
		out[n.Version] = n.Payload + n.Metadata["io.openshift.upgrades.graph.release.channels"]
	}
	for _, e := range a.Edges {
		out[a.Nodes[e[0]].Version+">"+a.Nodes[e[1]].Version] = "recommended"
	}
	for _, c := range a.ConditionalEdges {
		for _, e := range c.Edges {
			pair := e.From + ">" + e.To
			if out[pair] != "" {
				doubles++
			}
			out[pair] = ""
			for _, r := range c.Risks {
				out[pair] += r.Name + r.Message + r.MatchingRules[0].PromQL.PromQL + "|"
			}
		}
	}
	return out, doubles
}
