package graphdata

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// A Release is the metadata of a release image.
type Release struct {
	Version string
	// Arch follows Cincinnati's rule: multi only for a payload with several architectures.
	Arch release.Arch
	// Payload is the release image, by digest.
	Payload string
	// Previous and Next are the versions with an update to this one, and those that this one can be
	// updated to, from release-metadata.
	Previous, Next []string
	// Metadata is from release-metadata. Keys with the prefix io.openshift.upgrades.graph. change
	// the graph.
	Metadata map[string]string
}

// The metadata by which servers add and remove updates, all below graphKey. Values are
// comma-separated versions; remove accepts "*" for all.
const (
	graphKey     = "io.openshift.upgrades.graph."
	previousAdd  = graphKey + "previous.add"
	nextAdd      = graphKey + "next.add"
	previousGone = graphKey + "previous.remove"
	regexGone    = graphKey + "previous.remove_regex"
	nextGone     = graphKey + "next.remove"
	archKey      = graphKey + "release.arch" // servers remove it
	allVersions  = "*"
)

// Graph returns the graph that an update service serves for a channel and an architecture if it has
// these releases and this graph data (openshift/cincinnati, the plugins of its graph builder and
// its policy engine). Releases of other architectures and channels are ignored, as are updates from
// and to missing releases. An unknown channel is an error.
func (d *Data) Graph(releases []Release, channel string, arch release.Arch) (*graph.Graph, error) {
	if !slices.Contains(d.names, channel) {
		err := fmt.Errorf("the graph data has no channel %q", channel)
		if p := suggest.Phrase(channel, d.names); p != "" {
			err = fmt.Errorf("%w; %s", err, p)
		}
		return nil, err
	}
	m := maker{data: d, arch: arch, index: map[string]int{}}
	for _, r := range releases {
		if r.Arch != arch {
			continue
		}
		if err := m.add(r, channel); err != nil {
			return nil, fmt.Errorf("release %s: %w", release.Name(r.Version, r.Arch), err)
		}
	}
	if err := m.connect(); err != nil {
		return nil, fmt.Errorf("making the graph of %s for %s: %w", channel, arch, err)
	}
	g, err := graph.New(m.nodes, m.plain(), m.conditional)
	if err != nil {
		return nil, fmt.Errorf("making the graph of %s for %s: %w", channel, arch, err)
	}
	return g, nil
}

// A maker builds the graph for one channel and architecture. Servers build all channels and
// architectures at once and filter at the end. The result is the same, because updates never cross
// architectures and no update depends on a third release.
type maker struct {
	data        *Data
	arch        release.Arch
	releases    []Release
	nodes       []graph.Node
	index       map[string]int // of nodes, by version
	before      []map[int]bool // for each node, those with an update to it
	conditional []graph.Conditional
}

// add adds a release if it is in the channel.
func (m *maker) add(r Release, channel string) error {
	v, err := semver.Parse(r.Version)
	if err != nil {
		return fmt.Errorf("%.100q is not a semantic version: %w", r.Version, err)
	}
	metadata := m.metadata(r, v)
	if !slices.Contains(list(metadata[graph.ChannelsKey]), channel) {
		return nil
	}
	if _, ok := m.index[v.String()]; ok {
		return fmt.Errorf("duplicate release, also as %s", r.Payload)
	}
	m.index[v.String()] = len(m.nodes)
	m.releases = append(m.releases, r)
	m.nodes = append(m.nodes, graph.Node{Version: v, Payload: r.Payload, Metadata: metadata})
	m.before = append(m.before, map[int]bool{})
	return nil
}

// metadata returns the metadata of the release with the additions of the graph data.
func (m *maker) metadata(r Release, v semver.Version) map[string]string {
	out := make(map[string]string, len(r.Metadata)+3)
	maps.Copy(out, r.Metadata)
	delete(out, archKey)
	if _, d, ok := strings.Cut(r.Payload, "@"); ok {
		out[graph.ManifestKey] = d
	}
	join := func(key, separator, value string) {
		if old, ok := out[key]; ok {
			value = old + separator + value
		}
		out[key] = value
	}
	for key, value := range m.data.metadata[bare(v)] {
		join(key, ",", value)
	}
	// All plain blocks come before the risks; each replaces the value.
	for _, b := range m.blocks(v) {
		if b.risk < 0 {
			out[regexGone] = b.from.String()
		}
	}
	for _, b := range m.blocks(v) {
		if b.risk >= 0 {
			join(regexGone, "|", b.from.String())
		}
	}
	channels := append(list(out[graph.ChannelsKey]), m.data.Channels(v, m.arch)...)
	if len(channels) > 0 {
		elements.Sort(channels, compareChannels)
		out[graph.ChannelsKey] = strings.Join(channels, ",")
	}
	return out
}

// blocks returns the blocks of updates to a release.
func (m *maker) blocks(v semver.Version) []block {
	return elements.Filter(m.data.blocks[bare(v)], func(b block) bool { return b.arch == "" || b.arch == string(m.arch) })
}

// connect computes the updates: those that images name and those that metadata adds; then the
// conditional ones among them, and the plain ones that remain after removals.
func (m *maker) connect() error {
	for at, r := range m.releases {
		metadata := m.nodes[at].Metadata
		for _, from := range slices.Concat(r.Previous, list(metadata[previousAdd])) {
			m.join(from, r.Version)
		}
		for _, to := range slices.Concat(r.Next, list(metadata[nextAdd])) {
			m.join(r.Version, to)
		}
	}
	m.findConditional()
	for at := range m.nodes {
		if err := m.remove(at); err != nil {
			return fmt.Errorf("updates to %s: %w", m.nodes[at].Version, err)
		}
	}
	return nil
}

// join adds an update if both releases exist.
func (m *maker) join(from, to string) {
	f, known := m.index[from]
	t, ok := m.index[to]
	if known && ok {
		m.before[t][f] = true
	}
}

// source returns a release as regular expressions match it: "4.15.3+amd64".
func (m *maker) source(at int) string { return m.nodes[at].Version.String() + "+" + string(m.arch) }

// findConditional groups the updates with a risk by their risks.
func (m *maker) findConditional() {
	groups := map[string]int{} // index in m.conditional, by the numbers of the risks
	for to, before := range m.before {
		blocks := slices.DeleteFunc(m.blocks(m.nodes[to].Version), func(b block) bool { return b.risk < 0 })
		for from := range before {
			var numbers []int
			for _, b := range blocks {
				if b.from.MatchString(m.source(from)) {
					numbers = append(numbers, b.risk)
				}
			}
			if len(numbers) == 0 {
				continue
			}
			key := fmt.Sprint(numbers)
			n, ok := groups[key]
			if !ok {
				n = len(m.conditional)
				groups[key] = n
				c := graph.Conditional{}
				for _, r := range numbers {
					c.Risks = append(c.Risks, m.data.risks[r])
				}
				m.conditional = append(m.conditional, c)
			}
			pair := graph.Pair{From: m.nodes[from].Version.String(), To: m.nodes[to].Version.String()}
			m.conditional[n].Pairs = append(m.conditional[n].Pairs, pair)
		}
	}
}

// remove deletes the plain updates that metadata removes: those to a release and, for next.remove,
// those from it.
func (m *maker) remove(at int) error {
	metadata := m.nodes[at].Metadata
	previous := list(metadata[previousGone])
	if slices.Equal(previous, []string{allVersions}) {
		clear(m.before[at])
	}
	for _, from := range previous {
		if f, ok := m.index[from]; ok {
			delete(m.before[at], f)
		}
	}
	for _, to := range list(metadata[nextGone]) {
		if t, ok := m.index[to]; ok {
			delete(m.before[t], at)
		}
	}
	text, ok := metadata[regexGone]
	if !ok {
		return nil
	}
	from, err := regexp.Compile(text)
	if err != nil {
		return fmt.Errorf("%s: %w", regexGone, err)
	}
	for f := range m.before[at] {
		if from.MatchString(m.source(f)) {
			delete(m.before[at], f)
		}
	}
	return nil
}

// plain returns the unconditional updates, by indexes of nodes.
func (m *maker) plain() [][2]int {
	var out [][2]int
	for to, before := range m.before {
		for from := range before {
			out = append(out, [2]int{from, to})
		}
	}
	return out
}

// list splits a comma-separated list.
func list(s string) []string {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
