package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/release/graph"
)

func TestGraphRelease(t *testing.T) {
	t.Parallel()
	k, _ := smallService(t)
	k.want(exitOK, `fast-4.20 for amd64
6 releases and 10 updates, 3 of them conditional.
Path: 4.18.1 -> 4.19.2 -> 4.20.2. 2 hops, no risks.

4.18.1 to 4.20.2
4.18: 2 releases, 4.18.1 to 4.18.2
4.19: 2 releases, 4.19.1 to 4.19.2
4.20: 2 releases, 4.20.1 to 4.20.2
  o 4.20.2    from 2 releases                target, on the path  from 4.19.2, 4.20.1
  | o 4.20.1  from 2 releases, 1 with risks                       from 4.19.2
  o 4.19.2    from 3 releases                newest, on the path  from 4.18.1, 4.18.2, 4.19.1
  | o 4.19.1  from 2 releases, with risks                         conditional PausedPools (4.18.2)
  | o 4.18.2  from 1 release                 newest               from 4.18.1
  o 4.18.1                                   start, on the path
`, "", "graph", "release", "fast-4.20", "--from", "4.18.1")

	for form, words := range map[string][]string{
		"svg":     {"<svg ", "4.20.2", "stroke-dasharray", ">PausedPools<", "recommended if none of its risks applies"},
		"mermaid": {"flowchart LR", `-.->|"PausedPools"|`, "4.20.2"},
		"dot":     {"digraph gantry", `label="PausedPools"`, "style=dashed"},
	} {
		o := k.gantry("graph", "release", "fast-4.20", "-o", form)
		for _, word := range words {
			if o.code != exitOK || !strings.Contains(o.stdout, word) {
				t.Errorf("%s ended with %d and does not contain %q\n%s%s", form, o.code, word, o.stdout, o.stderr)
			}
		}
	}
}

// TestGraphReleaseJSON checks that the format json prints the update graph, or the selected part of
// it.
func TestGraphReleaseJSON(t *testing.T) {
	t.Parallel()
	k, _ := smallService(t)
	read := func(args ...string) (versions []string, updates int) {
		t.Helper()
		o := k.gantry(append([]string{"graph", "release", "-o", "json"}, args...)...)
		g, err := graph.Read(strings.NewReader(o.stdout))
		if err != nil || o.code != exitOK {
			t.Fatalf("%d: %v\n%s", o.code, err, o.stderr)
		}
		for i, n := range g.Nodes {
			versions = append(versions, n.Version.String())
			updates += len(g.From(i))
		}
		var again bytes.Buffer
		if err := g.Write(&again); err != nil || again.String() != o.stdout {
			t.Errorf("the graph is not canonical: %v\n%s", err, o.stdout)
		}
		return versions, updates
	}
	for _, tc := range []struct {
		args, versions string
		updates        int
	}{
		{"fast-4.20", "4.18.1 4.18.2 4.19.1 4.19.2 4.20.1 4.20.2", 10},
		{"fast-4.20 --from 4.18.2 --to 4.20.1", "4.18.2 4.19.1 4.19.2 4.20.1", 5},
		{"fast-4.20 --to 4.19.2", "4.18.1 4.18.2 4.19.1 4.19.2", 6},
		{"fast-4.20 --arch multi", "4.20.1 4.20.2", 1},
	} {
		versions, updates := read(strings.Fields(tc.args)...)
		if diff := cmp.Diff(tc.versions, strings.Join(versions, " ")); diff != "" || updates != tc.updates {
			t.Errorf("%s: %d updates, want %d\n%s", tc.args, updates, tc.updates, diff)
		}
	}
}

func TestGraphReleaseRefuses(t *testing.T) {
	t.Parallel()
	k, _ := smallService(t)
	for args, words := range map[string]string{
		"":                                     "accepts 1 arg(s), received 0",
		"stable-4.20 stable-4.18":              "accepts 1 arg(s), received 2",
		"stable-4.21":                          "channel stable-4.21 has no releases for amd64",
		"stable-4.20 -o png":                   "there are svg, mermaid, dot, json, text",
		"stable-4.20 --arch vax":               "unknown architecture",
		"stable-4.20 --from 4.18.7":            "--from 4.18.7 is not in channel stable-4.20",
		"stable-4.20 --arch multi --to 4.18.1": "--to 4.18.1 is not in channel stable-4.20 for multi; it has 4.20.1;",
	} {
		k.refuse(exitUsage, []string{words}, append([]string{"graph", "release"}, strings.Fields(args)...)...)
	}
	k.refuse(exitUsage, []string{"4.20.1 is newer than 4.19.1"}, "graph", "release", "stable-4.20", "--from", "4.20.1", "--to", "4.19.1")
	b, _ := blockedService(t)
	// A path that a plan would refuse is drawn, with the exit status of the plan.
	for _, args := range [][]string{{"--forbid-risk", "SlowPulls"}, nil} {
		o := b.gantry(append([]string{"graph", "release", "stable-4.20", "--from", "4.19.2"}, args...)...)
		if o.code != exitUsage || !strings.Contains(o.stdout, "Path: 4.19.2 -> 4.20.1. 1 hop, 1 risk: SlowPulls") || !strings.Contains(o.stderr, "4.19.2 cannot be updated to 4.20.1") {
			t.Errorf("ended with %d\n%s%s", o.code, o.stdout, o.stderr)
		}
	}
	if o := b.gantry("graph", "release", "stable-4.20", "--from", "4.19.2", "--accept-risk", "SlowPulls", "-o", "json"); o.code != exitOK || o.stdout == "" {
		t.Errorf("ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
}

// TestGraphOfCatalogs checks that the arguments for packages still work.
func TestGraphOfCatalogs(t *testing.T) {
	t.Parallel()
	k := ask(t, "")
	k.refuse(exitUsage, []string{`"quay" is not a file or folder`}, "graph", "quay", "release")
}

func TestGraphRealRelease(t *testing.T) {
	t.Parallel()
	k := realService(t)
	k.want(exitOK, `stable-4.16 for amd64
161 releases and 6707 updates, 3284 of them conditional.
Consecutive releases are folded into 6 boxes.

4.14.0 to 4.16.55
4.14: 51 releases, 4.14.0 to 4.14.51
4.15: 56 releases, 4.15.0 to 4.15.59
4.16: 54 releases, 4.16.0 to 4.16.55
  o 4.16.55            from 94 releases  head    from 4.16.0 to 4.16.54
  o 4.16.0 to 4.16.54  53 releases       folded  from 4.15.59
  o 4.15.59            from 90 releases  newest  from 4.15.0 to 4.15.58
  o 4.15.0 to 4.15.58  55 releases       folded  from 4.14.51
  o 4.14.51            from 50 releases  newest  from 4.14.0 to 4.14.50
  o 4.14.0 to 4.14.50  50 releases       folded
`, "", "graph", "release", "stable-4.16")
	o := k.gantry("graph", "release", "stable-4.16", "--all", "-o", "svg")
	if n := strings.Count(o.stdout, `class="node`); o.code != exitOK || n < 161 {
		t.Errorf("ended with %d and %d boxes", o.code, n)
	}
}
