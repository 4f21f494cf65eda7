package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/release/graph"
	"github.com/gantry-mirror/gantry/pkg/release/path"
)

// A channel is an entry of the configuration with its graph for one architecture.
type channel struct {
	imageset.ReleaseChannel
	arch  release.Arch
	graph *graph.Graph
	whose UpdateGraph
	// blocked are the releases that the graph is without, since blockedImages leaves
	// them out: the patterns, by version.
	blocked map[string]string
	// min and max are the ends of the range, in the graph.
	min, max int
	// from are the nodes of the graph that clusters run.
	from []int
}

func (ch *channel) String() string { return fmt.Sprintf("channel %s for %s", ch.Name, ch.arch) }

// read fetches the graph and finds the ends of the range in it.
func (ch *channel) read(ctx context.Context, from Updates, blocked []imageset.Blocked) (err error) {
	if ch.graph, ch.whose, err = from.Graph(ctx, ch.Product, ch.Name, ch.arch); err != nil {
		return fmt.Errorf("%s: %w", ch.Pos, err)
	}
	ch.leaveOut(blocked)
	switch {
	case len(ch.graph.Nodes) > 0:
	case len(ch.blocked) > 0:
		return &InputError{fmt.Errorf("%s: blockedImages leaves out every release of %s: make its patterns narrower, or take the channel out", ch.Pos, ch)}
	default:
		return &InputError{fmt.Errorf("%s: channel %s has no release for %s: check its name", ch.Pos, ch.Name, ch.arch)}
	}
	ch.min, ch.max = 0, ch.graph.Head()
	var problems []error
	find := func(pos imageset.Position, version string, at *int) {
		if version == "" {
			return
		}
		i, err := ch.find(ctx, from, version)
		if err != nil {
			problems = append(problems, &InputError{fmt.Errorf("%s: %w", pos, err)})
			return
		}
		*at = i
	}
	find(ch.Pos, ch.Range.Min, &ch.min)
	find(ch.Pos, ch.Range.Max, &ch.max)
	for _, v := range ch.From {
		i := 0
		find(v.Pos, v.Version, &i)
		ch.from = append(ch.from, i)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(problems...)
}

// leaveOut takes the releases out of the graph whose payloads are blocked: there is
// no release without its payload, and no update over it.
func (ch *channel) leaveOut(patterns []imageset.Blocked) {
	if len(patterns) == 0 {
		return
	}
	ch.blocked = map[string]string{}
	ch.graph = ch.graph.Keep(func(n graph.Node) bool {
		p, ok := blockedBy(patterns, normalised(n.Payload), ReleaseRepository)
		if ok {
			ch.blocked[n.Version.String()] = p
		}
		return !ok
	})
}

// find is the node of a version; the error says which channel has it instead.
func (ch *channel) find(ctx context.Context, from Updates, version string) (int, error) {
	v, err := semver.Parse(version)
	if err != nil {
		return 0, fmt.Errorf("version %q: %w", version, err)
	}
	if i, ok := ch.graph.Find(v); ok {
		return i, nil
	}
	if pattern, ok := ch.blocked[version]; ok {
		return 0, fmt.Errorf("%s of %s is left out by blockedImages (%s): name another release, or make the pattern narrower", version, ch, pattern)
	}
	near := strings.Join(ch.around(v), " and ")
	if other := ch.elsewhere(ctx, from, v); other != "" {
		return 0, fmt.Errorf("%s is not in %s; %s has it: take it of that channel, or name what is next to it here, %s", version, ch, other, near)
	}
	return 0, fmt.Errorf("%s is not in %s: name what is next to it there, %s", version, ch, near)
}

// around are the versions of the channel next to v.
func (ch *channel) around(v semver.Version) (near []string) {
	i, _ := ch.graph.Find(v)
	for _, n := range ch.graph.Nodes[max(0, i-1):min(len(ch.graph.Nodes), i+1)] {
		near = append(near, n.Version.String())
	}
	return near
}

// elsewhere is the channel of the version's own minor that has it; "" where none
// does, or where that cannot be found out.
func (ch *channel) elsewhere(ctx context.Context, from Updates, v semver.Version) string {
	kinds := []string{ch.kind(), "stable", "fast", "candidate"}
	for i, k := range kinds {
		name := fmt.Sprintf("%s-%d.%d", k, v.Major, v.Minor)
		if name == ch.Name || slices.Contains(kinds[:i], k) {
			continue
		}
		g, _, err := from.Graph(ctx, ch.Product, name, ch.arch)
		if err != nil {
			continue
		}
		if _, ok := g.Find(v); ok {
			return name
		}
	}
	return ""
}

// kind is how careful the channel is: "stable".
func (ch *channel) kind() string { return kindOfChannel(ch.Name) }

func kindOfChannel(name string) string {
	kind, _, _ := strings.Cut(name, "-")
	return kind
}

// lowest is the lowest release that the entry takes by itself, -1 where it takes
// what clusters run.
func (ch *channel) lowest() int {
	switch {
	case len(ch.From) > 0:
		return -1
	case ch.Range.IsZero() && !ch.Full:
		return ch.max
	}
	return ch.min
}

// end is the version that the channel is taken up to.
func (ch *channel) end() semver.Version { return ch.graph.Nodes[ch.max].Version }

// through is the path of the range. Who asks for it and says nothing of risks gets
// it, over conditional updates where nothing else leads there; the plan names
// their risks.
func (ch *channel) through(from int) ([]path.Path, error) {
	policy := ch.policy()
	policy.AllowAlways = true
	return path.Find(ch.graph, versions(ch.graph, []int{from}), ch.graph.Nodes[ch.max].Version, policy)
}

func versions(g *graph.Graph, nodes []int) []semver.Version {
	out := make([]semver.Version, len(nodes))
	for i, n := range nodes {
		out[i] = g.Nodes[n].Version
	}
	return out
}

// policy is what the channel's risks count for.
func (ch *channel) policy() path.Policy {
	p := path.Policy{Accept: ch.Risks.Accept, Forbid: ch.Risks.Forbid}
	if ch.Risks.Ignore {
		p.Mode = path.Ignore
	}
	return p
}

// remarks are notes on the channel itself: on releases that are left out.
func (ch *channel) remarks() []string {
	var notes []string
	if len(ch.blocked) > 0 {
		var gone []string
		for v, pattern := range ch.blocked {
			gone = append(gone, fmt.Sprintf("%s (%s)", v, pattern))
		}
		slices.SortFunc(gone, func(a, b string) int {
			a, _, _ = strings.Cut(a, " ")
			b, _, _ = strings.Cut(b, " ")
			return compareVersions(a, b)
		})
		notes = append(notes, fmt.Sprintf("%s is without what blockedImages leaves out: %s", ch, few(gone)))
	}
	return notes
}

// some is how many things a sentence names.
const some = 5

// few lists things of which there may be many.
func few(all []string) string {
	if more := len(all) - some; more > 0 {
		return strings.Join(all[:some], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(all, ", ")
}

// normalised is a reference as wishes have it; what is none stays as it is.
func normalised(text string) string {
	if ref, err := reference.Parse(text); err == nil {
		return ref.String()
	}
	return text
}
