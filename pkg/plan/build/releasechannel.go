package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
	"github.com/gantry-mirror/gantry/pkg/platform/path"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// A channel is a release channel of the configuration with its update graph for one architecture.
type channel struct {
	imageset.ReleaseChannel
	arch   release.Arch
	graph  *graph.Graph
	source plan.UpdateGraph
	// blocked are the releases that were removed from the graph, because blockedImages matches
	// them: the patterns, by version.
	blocked map[string]string
	// young are the releases that were removed because they are too young: the days of their creation, by version.
	young map[string]string
	// min and max are the lowest and the highest release in the range, in the graph.
	min, max int
	// absent are notes on bounds of the range that are not releases of the channel.
	absent []string
	// installed are the nodes of the versions that clusters run.
	installed []int
}

func (ch *channel) String() string { return fmt.Sprintf("channel %s for %s", ch.Name, ch.arch) }

// read reads the graph and finds the ends of the range in it.
func (ch *channel) read(ctx context.Context, source ReleaseSource, blocked []imageset.Blocked, young map[string]string) (err error) {
	if ch.graph, ch.source, err = source.Graph(ctx, ch.Product, ch.Name, ch.arch); err != nil {
		return fmt.Errorf("%s: %w", ch.Pos, err)
	}
	ch.removeBlocked(blocked)
	ch.removeYoung(young)
	switch {
	case len(ch.graph.Nodes) > 0:
	case len(ch.young) > 0:
		return inputErrorf("%s: all releases of %s are younger than the minimum age: remove the channel until they are older", ch.Pos, ch)
	case len(ch.blocked) > 0:
		return inputErrorf("%s: blockedImages blocks every release of %s: make its patterns narrower, or remove the channel", ch.Pos, ch)
	default:
		return inputErrorf("%s: channel %s has no release for %s: check its name", ch.Pos, ch.Name, ch.arch)
	}
	ch.min, ch.max = 0, ch.graph.Head()
	problems := []error{ch.bound(ctx, source)}
	for _, v := range ch.From {
		i, err := ch.find(ctx, source, v.Version)
		if err != nil {
			problems = append(problems, inputErrorf("%s: %w", v.Pos, err))
		}
		ch.installed = append(ch.installed, i)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(problems...)
}

// bound finds the lowest and the highest release in the range. The bounds need not be releases of the
// channel, but some release must be between them.
func (ch *channel) bound(ctx context.Context, source ReleaseSource) error {
	low, high := ch.Range.Min, ch.Range.Max
	for _, end := range []struct {
		version string
		at      *int
		beside  int // where an end is that is not a release: above it, or below it
	}{{low, &ch.min, 0}, {high, &ch.max, -1}} {
		if end.version == "" {
			continue
		}
		v, err := semver.Parse(end.version)
		if err != nil {
			return inputErrorf("%s: version %q: %w", ch.Pos, end.version, err)
		}
		i, ok := ch.graph.Find(v)
		if *end.at = i; !ok {
			*end.at = i + end.beside
		}
	}
	if ch.min <= ch.max {
		ch.noteAbsent("minVersion", low, ch.min)
		ch.noteAbsent("maxVersion", high, ch.max)
		return nil
	}
	if low == "" || high == "" || low == high {
		_, err := ch.find(ctx, source, cmp.Or(low, high))
		return inputErrorf("%s: %w", ch.Pos, err)
	}
	var near []string
	for _, i := range []int{ch.max, ch.min} { // the range is between them
		if i >= 0 && i < len(ch.graph.Nodes) {
			near = append(near, ch.graph.Nodes[i].Version.String())
		}
	}
	return inputErrorf("%s: %s has no release from %s to %s: use a version next to it, %s", ch.Pos, ch, low, imageset.VersionText(high), strings.Join(near, " or "))
}

// noteAbsent adds a note on a bound that is not a release of the channel. A bound without all numbers (4.18) needs none.
func (ch *channel) noteAbsent(field, version string, node int) {
	if n := ch.graph.Nodes[node].Version.String(); version != "" && n != version && imageset.VersionText(version) == version && !strings.HasSuffix(version, ".0") {
		ch.absent = append(ch.absent, fmt.Sprintf("%s: %s %s is not a release of it; the nearest in the range is %s", ch, field, version, n))
	}
}

// removeBlocked removes releases with blocked payloads from the graph: without its payload there is
// neither the release nor an update path through it.
func (ch *channel) removeBlocked(patterns []imageset.Blocked) {
	if len(patterns) == 0 {
		return
	}
	ch.blocked = map[string]string{}
	ch.graph = ch.graph.Keep(func(n graph.Node) bool {
		p, ok := imageset.BlockedBy(patterns, normalize(n.Payload), plan.ReleaseRepository)
		if ok {
			ch.blocked[n.Version.String()] = p
		}
		return !ok
	})
}

// find returns the node of a version. The error names a channel that has it, if any.
func (ch *channel) find(ctx context.Context, source ReleaseSource, version string) (int, error) {
	v, err := semver.Parse(version)
	if err != nil {
		return 0, fmt.Errorf("version %q: %w", version, err)
	}
	if i, ok := ch.graph.Find(v); ok {
		return i, nil
	}
	if created, ok := ch.young[version]; ok {
		return 0, fmt.Errorf("%s of %s was created on %s and is younger than the minimum age: use another release until it is older", version, ch, created)
	}
	if pattern, ok := ch.blocked[version]; ok {
		return 0, fmt.Errorf("%s of %s is blocked by blockedImages (%s): use another release, or make the pattern narrower", version, ch, pattern)
	}
	version = imageset.VersionText(version)
	near := strings.Join(ch.neighbors(v), " or ")
	if other := ch.otherChannel(ctx, source, v); other != "" {
		return 0, fmt.Errorf("%s is not in %s, but in %s: use that channel, or a version next to it, %s", version, ch, other, near)
	}
	return 0, fmt.Errorf("%s is not in %s: use a version next to it, %s", version, ch, near)
}

// neighbors returns the versions of the channel next to v.
func (ch *channel) neighbors(v semver.Version) (near []string) {
	i, _ := ch.graph.Find(v)
	for _, n := range ch.graph.Nodes[max(0, i-1):min(len(ch.graph.Nodes), i+1)] {
		near = append(near, n.Version.String())
	}
	return near
}

// otherChannel returns a channel of the version's own minor version that has it, or "" if none is known.
func (ch *channel) otherChannel(ctx context.Context, source ReleaseSource, v semver.Version) string {
	kinds := []string{ch.kind(), "stable", "fast", "candidate"}
	for i, k := range kinds {
		name := fmt.Sprintf("%s-%d.%d", k, v.Major, v.Minor)
		if name == ch.Name || slices.Contains(kinds[:i], k) {
			continue
		}
		g, _, err := source.Graph(ctx, ch.Product, name, ch.arch)
		if err != nil {
			continue
		}
		if _, ok := g.Find(v); ok {
			return name
		}
	}
	return ""
}

// kind returns the kind of the channel, such as "stable".
func (ch *channel) kind() string { return kindOfChannel(ch.Name) }

func kindOfChannel(name string) string {
	kind, _, _ := strings.Cut(name, "-")
	return kind
}

// lowest returns the lowest release that the entry selects, or -1 if it selects the versions that clusters run.
func (ch *channel) lowest() int {
	switch {
	case len(ch.From) > 0:
		return -1
	case ch.Range.IsZero() && !ch.Full:
		return ch.max
	}
	return ch.min
}

// maxVersion returns the highest version that is selected.
func (ch *channel) maxVersion() semver.Version { return ch.graph.Nodes[ch.max].Version }

// pathThroughRange returns the path through the range. It includes conditional updates if there is no
// other way and risks do not forbid them; the plan lists their risks.
func (ch *channel) pathThroughRange(from int) ([]path.Path, error) {
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

// policy returns the policy for risks of conditional updates.
func (ch *channel) policy() path.Policy {
	p := path.Policy{Accept: ch.Risks.Accept, Forbid: ch.Risks.Forbid}
	if ch.Risks.Ignore {
		p.Mode = path.Ignore
	}
	return p
}

// notes returns notes on bounds that are not releases, and on releases that are blocked.
func (ch *channel) notes() []string {
	notes := ch.absent
	if len(ch.young) > 0 {
		var young []string
		for v, created := range ch.young {
			young = append(young, fmt.Sprintf("%s (%s)", v, created))
		}
		slices.Sort(young)
		notes = append(notes, fmt.Sprintf("%s is mirrored without releases that are younger than the minimum age: %s", ch, shortList(young)))
	}
	if len(ch.blocked) > 0 {
		var blocked []string
		for v, pattern := range ch.blocked {
			blocked = append(blocked, fmt.Sprintf("%s (%s)", v, pattern))
		}
		elements.Sort(blocked, func(a, b string) int {
			a, _, _ = strings.Cut(a, " ")
			b, _, _ = strings.Cut(b, " ")
			return compareVersions(a, b)
		})
		notes = append(notes, fmt.Sprintf("%s is mirrored without the releases that blockedImages matches: %s", ch, shortList(blocked)))
	}
	return notes
}

// normalize returns a reference as requests have it. Text that is not a reference stays unchanged.
func normalize(text string) string {
	if ref, err := reference.Parse(text); err == nil {
		return ref.String()
	}
	return text
}

// removeYoung removes releases that are too young from the graph.
func (ch *channel) removeYoung(young map[string]string) {
	if len(young) == 0 {
		return
	}
	ch.young = map[string]string{}
	ch.graph = ch.graph.Keep(func(n graph.Node) bool {
		created, found := young[n.Payload]
		if found {
			ch.young[n.Version.String()] = created
		}
		return !found
	})
}

// compareVersions orders versions that parse.
func compareVersions(a, b string) int {
	x, errX := semver.Parse(a)
	y, errY := semver.Parse(b)
	if errX != nil || errY != nil {
		return strings.Compare(a, b)
	}
	return graph.Compare(x, y)
}

func higher(a *channel, i int, b *channel, j int) bool {
	return graph.Compare(a.graph.Nodes[i].Version, b.graph.Nodes[j].Version) > 0
}
