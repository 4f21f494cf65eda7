package histories

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// A step is one line of a history: a verb, words, and settings "name=value".
type step struct {
	verb     string
	words    []string
	settings map[string]string
}

func parseStep(line string) step {
	fields := strings.Fields(line)
	s := step{verb: fields[0], settings: map[string]string{}}
	for _, f := range fields[1:] {
		if name, value, ok := strings.Cut(f, "="); ok {
			s.settings[name] = value
		} else {
			s.words = append(s.words, f)
		}
	}
	return s
}

// word returns a word of the step, "" if it has fewer.
func (s *step) word(i int) string {
	if i < len(s.words) {
		return s.words[i]
	}
	return ""
}

// number returns a setting as a number, 0 if there is none.
func (s *step) number(name string) int {
	n, _ := strconv.Atoi(s.settings[name])
	return n
}

// A history is what happens to the mirrors on a registry, in text that can be run again: a line for each step. The first
// line has the options "tagged" (every run has --tag-untagged) and "sparse" (the registry accepts indexes with missing images).
type history struct {
	tagged, sparse bool
	steps          []string
}

func (h *history) String() string {
	options := "options"
	if h.tagged {
		options += " tagged"
	}
	if h.sparse {
		options += " sparse"
	}
	return options + "\n" + strings.Join(h.steps, "\n") + "\n"
}

// parseHistory reads what String wrote. Empty lines and comments are ignored.
func parseHistory(text string) (*history, error) {
	h := &history{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		first, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case first == "options":
			h.tagged, h.sparse = strings.Contains(rest, "tagged"), strings.Contains(rest, "sparse")
		default:
			h.steps = append(h.steps, line)
		}
	}
	if len(h.steps) == 0 {
		return nil, fmt.Errorf("no steps in %q", text)
	}
	return h, nil
}

// without returns the history without some of its steps.
func (h *history) without(from, to int) *history {
	less := *h
	less.steps = slices.Concat(h.steps[:from], h.steps[to:])
	return &less
}

// A generator makes a random history.
type generator struct {
	*rand.Rand
	history
	count int
}

// randomHistory makes the history of a seed.
func randomHistory(seed uint64) *history {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 29))}
	g.tagged = g.IntN(2) == 0
	g.sparse = g.tagged && g.IntN(3) == 0 // see "collect garbage" in docs/21-prune.md
	g.add("%s", g.selecting("a", "m"))
	g.add("mirror a m w1")
	for range 8 + g.IntN(9) {
		g.step()
	}
	return &g.history
}

func (g *generator) add(format string, args ...any) {
	g.steps = append(g.steps, fmt.Sprintf(format, args...))
}

func (g *generator) one(words ...string) string { return words[g.IntN(len(words))] }

func (g *generator) set() string { return g.one("a", "a", "b") }

// prefix is the mirror: two apart from each other, and one within the first.
func (g *generator) prefix() string { return g.one("m", "m", "m", "n", "m/org") }

func (g *generator) workspace() string { return g.one("w1", "w1", "w2") }

// kill is the setting that kills a run when it sends a request, before or after the registry gets it.
func (g *generator) kill() string {
	if g.IntN(3) > 0 {
		return ""
	}
	return fmt.Sprintf(" kill=%d%s", 1+g.IntN([]int{30, 120}[g.IntN(2)]), g.one("", " served=1"))
}

// step adds one or two steps.
func (g *generator) step() {
	set, prefix := g.set(), g.prefix()
	switch g.IntN(18) {
	case 0, 1, 2:
		g.add("%s", g.selecting(set, prefix))
		g.add("%s%s", g.mirroring(set, prefix), g.kill())
	case 3:
		g.add("%s%s", g.mirroring(set, prefix), g.kill())
	case 4:
		g.add("source app%d", g.IntN(apps))
		if g.IntN(2) == 0 {
			g.add("%s", g.mirroring(set, prefix))
		}
	case 5:
		g.add("source %s", g.one("catalog", "file one", "file two"))
	case 6:
		g.count++
		g.add("%s app%d n=%d", g.one("refer", "refer", "unrefer"), g.IntN(apps), g.count)
	case 7, 8:
		if g.tagged && g.IntN(3) == 0 {
			g.add("gc untagged=1")
		}
		g.add("prune %s %s%s%s", prefix, g.workspace(), g.one("", "", " keep=2", " keep=3", " older=1", " save=1"), g.kill())
	case 9:
		g.add("forget %s %s %s%s", set, prefix, g.workspace(), g.kill())
	case 10, 11:
		g.add("delete %s %s %s %s%s", set, prefix, g.workspace(), g.one("app0", "app1", "app2", "app3", "otter", "heron", "catalog", "4.20.1"), g.kill())
	case 12:
		g.add("gc%s", map[bool]string{true: " untagged=1"}[g.tagged && g.IntN(4) > 0])
	case 13:
		both := g.one("mirror", "mirror", "prune")
		other := g.one("m", "m", "n")
		second := g.mirroring(g.one("a", "b"), other, "w2")
		if both == "prune" {
			g.add("both prune m w1 / %s", second)
		} else {
			g.add("both %s / %s", g.mirroring("a", "m", "w1"), second)
		}
	case 14: // tags move, and the earlier revision stays
		g.add("source apps")
		g.add("mirror %s %s w1", set, prefix)
		g.add("prune %s %s keep=2", prefix, g.workspace())
		g.add("gc%s", map[bool]string{true: " untagged=1"}[g.tagged])
	default:
		g.count++
		g.add("foreign %s %s %s n=%d", g.one("tag", "push", "index", "refer", "refer"), g.one("m", "m", "n"), g.one("org/app0", "org/app1", "org/app2", "org/app3", "zoo/otter", "zoo/index", "zoo/den", "openshift/release", "charts/web", "own/image"), g.count)
	}
}

func (g *generator) mirroring(set, prefix string, workspace ...string) string {
	if len(workspace) == 0 {
		workspace = []string{g.workspace()}
	}
	return fmt.Sprintf("mirror %s %s %s%s", set, prefix, workspace[0], g.one("", "", "", " prune=1"))
}

// selecting returns a step that selects content: "app1" is a tag, "app1@" its present digest, "/amd64" one platform, ">" another
// repository.
func (g *generator) selecting(set, prefix string) string {
	line := "select " + set
	to := []string{"", "", "", ">moved/app", ">app"}
	if prefix == "m/org" { // the repositories that m has, too
		to = []string{"", ">app", ">app"}
	}
	for range 1 + g.IntN(3) {
		line += fmt.Sprintf(" app%d%s", g.IntN(apps), g.one("", "", "@"))
		if g.sparse {
			line += g.one("", "/amd64")
		}
		line += g.one(to...)
	}
	switch g.IntN(5) {
	case 0, 1:
		line += " zoo:" + g.one("heads", "full") + ":" + g.one("otter", "heron", "otter,heron", "otter,heron") + g.one("", "", ">x")
	case 2:
		line += " zoo:all:" + g.one("", "", ">x")
	}
	if g.IntN(3) == 0 {
		line += " ocp:" + g.one("4.20.1", "4.20.2", "4.20.1,4.20.2") + g.one("", " graph")
	}
	if g.IntN(3) == 0 {
		line += g.one(" chart:1", " chart:2", " chart:1 chart:2")
	}
	if g.IntN(3) == 0 {
		line += g.one(" file:one", " file:two", " file:one file:two")
	}
	return line
}
