package graph

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/release"
)

func readFile(t *testing.T, path string) *Graph {
	t.Helper()
	f, err := os.Open(path)
	fail.On(t, err)
	defer f.Close()
	g, err := Read(f)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return g
}

func written(t testing.TB, g *Graph) []byte {
	t.Helper()
	var b bytes.Buffer
	fail.On(t, g.Write(&b))
	return b.Bytes()
}

func TestRead(t *testing.T) {
	g := readFile(t, "testdata/graph.json")
	if diff := cmp.Diff([]string{
		"4.19.9>4.20.0 SlowDisks:PromQL:Always",
		"4.19.9>4.20.1",
		"4.20.0>4.20.1 SlowDisks:PromQL:Always",
	}, edges(g)); diff != "" {
		t.Errorf("edges (-want +got):\n%s", diff)
	}
	payload := func(end string) string {
		return "quay.io/example/release@sha256:" + strings.Repeat("0", 64-len(end)) + end
	}
	if diff := cmp.Diff([]Node{
		{Version: semver.MustParse("4.19.9"), Payload: payload("199"), Channels: []string{"stable-4.19", "stable-4.20"},
			Metadata: map[string]string{ChannelsKey: "stable-4.19,stable-4.20", "count": "12", "list": `[1,"a"]`}},
		{Version: semver.MustParse("4.20.0-rc.1"), Payload: payload("200a")},
		{Version: semver.MustParse("4.20.0"), Payload: payload("200"), Arch: release.Multi, Metadata: map[string]string{ArchKey: "multi"}},
		{Version: semver.MustParse("4.20.1"), Payload: payload("201"), URL: "https://example.com/errata/201", Channels: []string{"candidate-4.20", "fast-4.20", "stable-4.20"},
			Metadata: map[string]string{URLKey: "https://example.com/errata/201", ChannelsKey: "candidate-4.20,fast-4.20,stable-4.20"}},
	}, g.Nodes); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	risk := g.Risks(g.From(0)[0])[0]
	if diff := cmp.Diff(Risk{
		Name: "SlowDisks", Message: "Disks < 1 & slow.", URL: "https://example.com/b",
		Rules: []Rule{{PromQL, "max(disk_seconds > 1)"}, {Always, ""}},
	}, risk); diff != "" {
		t.Errorf("risk (-want +got):\n%s", diff)
	}
	if risks := g.Risks(g.From(0)[1]); risks != nil {
		t.Errorf("a recommended update has the risks %v", risks)
	}
}

func TestWrite(t *testing.T) {
	g := readFile(t, "testdata/graph.json")
	want, err := os.ReadFile("testdata/canonical.json")
	fail.On(t, err)
	got := written(t, g)
	fail.Diff(t, string(want), string(got))
	again, err := Read(bytes.NewReader(got))
	fail.On(t, err)
	fail.Diff(t, g, again, cmp.AllowUnexported(Graph{}))
	r, w := io.Pipe()
	r.Close()
	if err := g.Write(w); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("writing to a closed pipe: %v", err)
	}
}

func TestReadErrors(t *testing.T) {
	whole, err := os.ReadFile("testdata/canonical.json")
	fail.On(t, err)
	node := func(s string) string { return `{"nodes":[{"version":"1.0.0","payload":"p"},` + s + `]}` }
	two := func(s string) string {
		return `{"nodes":[{"version":"1.0.0","payload":"p"},{"version":"1.0.1","payload":"q"}],` + s + `}`
	}
	for name, tt := range map[string]struct{ in, want string }{
		"empty":               {"", "the response is empty"},
		"blank":               {" \n", "the response is empty"},
		"HTML":                {"\n<!DOCTYPE html><html>", "an HTML page"},
		"text":                {"Service Unavailable", "invalid character 'S'"},
		"null":                {"null", `"nodes" is missing`},
		"list":                {"[]", "cannot unmarshal JSON array"},
		"error":               {`{"kind":"a","value":"b"}`, `"nodes" is missing`},
		"cut short":           {string(whole[:len(whole)/2]), "cut short after"},
		"cut at the end":      {string(whole[:len(whole)-2]), "cut short after"},
		"trailing":            {string(whole) + "{}", "after top-level value"},
		"trailing text":       {string(whole) + "x", "after top-level value"},
		"nodes twice":         {`{"nodes":[],"nodes":[]}`, `duplicate object member name "nodes"`},
		"version 2":           {`{"version":2,"nodes":[]}`, "format version 2"},
		"version as text":     {`{"version":"1","nodes":[]}`, `within "/version"`},
		"nodes no list":       {`{"nodes":{"a":1}}`, `nodes: json: cannot unmarshal JSON object`},
		"node no object":      {node("7"), `nodes: json: cannot unmarshal JSON number into Go graph.answeredNode within "/1"`},
		"no version":          {node(`{"payload":"p"}`), `nodes[1]: "" is not a version`},
		"not semver":          {node(`{"version":"4.20","payload":"p"}`), `"4.20" is not a version`},
		"version a number":    {node(`{"version":4.20,"payload":"p"}`), `within "/1/version"`},
		"no payload":          {node(`{"version":"1.1.0"}`), "1.1.0 has no payload"},
		"metadata no object":  {node(`{"version":"1.1.0","payload":"p","metadata":"x"}`), `within "/1/metadata"`},
		"version twice":       {node(`{"version":"1.0.0","payload":"p"}`), "1.0.0 occurs twice"},
		"edge of one":         {two(`"edges":[[1]]`), `within "/edges/0": too few array elements`},
		"edge of three":       {two(`"edges":[[0,1],[0,1,1]]`), `within "/edges/1": too many array elements`},
		"edge of text":        {two(`"edges":[["0","1"]]`), `within "/edges/0/0"`},
		"edge of a fraction":  {two(`"edges":[[0,1.5]]`), `within "/edges/0/1": invalid syntax`},
		"edge as an object":   {two(`"edges":[{"0":1}]`), `within "/edges/0"`},
		"edge out of range":   {two(`"edges":[[0,2]]`), "edge 0 leads from node 0 to node 2, and there are 2 nodes"},
		"index too large":     {two(`"edges":[[0,99999999999999999999]]`), "value out of range"},
		"negative":            {two(`"edges":[[-1,0]]`), "from node -1"},
		"to itself":           {two(`"edges":[[1,1]]`), "from 1.0.1 to itself"},
		"conditional, absent": {two(`"conditionalEdges":[{"edges":[{"from":"1.0.0","to":"1.0.2"}],"risks":[]}]`), `"1.0.2", which is not in the graph`},
		"rule no object":      {two(`"conditionalEdges":[{"risks":[{"matchingRules":["Always"]}]}]`), `within "/conditionalEdges/0/risks/0/matchingRules/0"`},
		"query no text":       {two(`"conditionalEdges":[{"risks":[{"matchingRules":[{"promql":{"promql":1}}]}]}]`), `matchingRules/0/promql/promql"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(strings.NewReader(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
	broken := errors.New("the wire broke")
	for _, at := range []int{0, 10, 700} {
		if _, err := Read(io.MultiReader(bytes.NewReader(whole[:at]), iotest.ErrReader(broken))); !errors.Is(err, broken) {
			t.Errorf("a reader that breaks after %d bytes: %v", at, err)
		}
	}
}

func TestReadLimits(t *testing.T) {
	whole, err := os.ReadFile("testdata/canonical.json")
	fail.On(t, err)
	size := int64(len(whole))
	for _, tt := range []struct {
		in     string
		size   int64
		values int
		want   string
	}{
		{string(whole), size, 55, ""},
		{string(whole), size, 54, "too many values"},
		{string(whole), size - 1, 55, fmt.Sprintf("more than %d bytes", size-1)},
		{string(whole) + strings.Repeat(" ", 5000), size, 55, fmt.Sprintf("more than %d bytes", size)},
	} {
		_, err := read(strings.NewReader(tt.in), tt.size, tt.values)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%d bytes at %d and %d: %v, want %q", len(tt.in), tt.size, tt.values, err, tt.want)
		}
	}
}

// TestReadEmpty reads the response of a service for an unknown channel.
func TestReadEmpty(t *testing.T) {
	for _, in := range []string{`{"version":1,"nodes":[],"edges":[],"conditionalEdges":[]}`, `{"nodes":null,"edges":null,"conditionalEdges":null}`} {
		g, err := Read(strings.NewReader(in))
		fail.On(t, err)
		if g.Head() != -1 {
			t.Errorf("the head of %s is %d", in, g.Head())
		}
		fail.Diff(t, `{"version":1,"nodes":[],"edges":[],"conditionalEdges":[]}`+"\n", string(written(t, g)))
	}
}

func TestKeep(t *testing.T) {
	g := readFile(t, "testdata/graph.json")
	fail.Diff(t, "4.20.1", g.Nodes[g.Head()].Version.String())
	without := func(version string) *Graph {
		return g.Keep(func(n Node) bool { return n.Version.String() != version })
	}
	for version, want := range map[string][]string{
		"4.19.9":      {"4.20.0>4.20.1 SlowDisks:PromQL:Always"},
		"4.20.0":      {"4.19.9>4.20.1"},
		"4.20.0-rc.1": edges(g),
	} {
		kept := without(version)
		fail.Diff(t, want, edges(kept))
		again, err := Read(bytes.NewReader(written(t, kept)))
		fail.On(t, err)
		fail.Diff(t, again, kept, cmp.AllowUnexported(Graph{}))
	}
	fail.Diff(t, 4, len(g.Nodes))
	if none := g.Keep(func(Node) bool { return false }); none.Head() != -1 || len(none.groups) != 0 {
		t.Errorf("nothing kept leaves %v", none)
	}
}

func FuzzRead(f *testing.F) {
	for _, path := range []string{"testdata/graph.json", "testdata/canonical.json"} {
		raw, err := os.ReadFile(path)
		fail.On(f, err)
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		g, err := Read(bytes.NewReader(raw))
		if err != nil {
			return
		}
		bytes1 := written(t, g)
		again, err := Read(bytes.NewReader(bytes1))
		if err != nil {
			t.Fatalf("what was written is not read: %v\n%s", err, bytes1)
		}
		fail.Diff(t, g, again, cmp.AllowUnexported(Graph{}))
		if !bytes.Equal(bytes1, written(t, again)) {
			t.Error("written again, it is different")
		}
	})
}
