package upgrade

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/extension"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
)

// A pathCheck checks one operator against one catalog that has its package.
type pathCheck struct {
	operator     installed.Operator
	at           graph.At
	catalog      Catalog
	kept, source *catalog.Package // source is nil where it is not known
	cluster      cluster
	dependencies *dependencies // nil if only the update graph matters
	edges        *edges        // nil for a single operator
	// like are further operators that the fixes are for: they have the same problem.
	like []installed.Operator
}

// subscription returns the paths of an operator of OLM classic: in the channel that it follows, or
// in each relevant channel if that is unknown.
func (c pathCheck) subscription() []Path {
	if len(c.operator.Channels) > 0 {
		return []Path{c.channel(c.operator.Channels[0])}
	}
	var routes []Path
	for _, ch := range c.kept.Channels {
		if c.relevant(ch) {
			routes = append(routes, c.channel(ch.Name))
		}
	}
	if len(routes) == 0 {
		for _, ch := range c.kept.Channels {
			routes = append(routes, c.channel(ch.Name))
		}
	}
	return routes
}

// relevant reports whether a channel has the installed bundle or an update of it, in the mirror or
// in the original catalog.
func (c pathCheck) relevant(ch *catalog.Channel) bool {
	entries := slices.Clone(ch.Entries)
	if c.source != nil {
		if original := c.source.Channel(ch.Name); original != nil {
			entries = append(entries, original.Entries...)
		}
	}
	return slices.ContainsFunc(entries, func(e catalog.Entry) bool {
		return e.Name == c.at.Name || graph.Edge(e, c.at.Name, c.at.Version)
	})
}

// channel returns the path of OLM classic in one channel.
func (c pathCheck) channel(name string) Path {
	r := Path{Catalog: c.catalog.Name, Channel: name, Outcome: Stranded, Stuck: c.at.Name}
	ch := c.kept.Channel(name)
	if ch == nil {
		c.noChannel(&r)
		return r
	}
	shape := graph.Inspect(ch.Entries)
	if !shape.Valid() {
		r.Explanation = fmt.Sprintf("OLM classic refuses updates from channel %s, which has no single head that all its entries lead to", name)
		return r
	}
	r.Head = shape.Heads[0]
	view := graph.View{Generation: graph.Classic, Channels: []string{name}}
	c.follow(&r, view, c.walk(c.kept, c.at, view))
	return r
}

// extension returns the path of an operator of OLM v1.
func (c pathCheck) extension() Path {
	r := Path{Catalog: c.catalog.Name, Outcome: Stranded, Stuck: c.at.Name}
	inRange, err := extension.Range(c.operator.Range)
	if err != nil {
		r.Explanation = err.Error()
		return r
	}
	r.Head = c.v1Head()
	if r.Head == "" {
		c.noHead(&r)
		return r
	}
	view := graph.View{
		Generation: graph.V1, Channels: c.operator.Channels,
		Accept: func(b *catalog.Bundle) bool { return inRange(b.Version) },
	}
	hops := c.walk(c.kept, c.at, view)
	same := c.installedBundle(view)
	switch {
	case c.operator.SelfCertified && c.at.Name != r.Head:
		hops = []graph.Hop{{From: c.at.Name, To: r.Head}}
	case len(hops) == 0 && same != nil && same.Name != c.at.Name:
		// OLM v1 takes this bundle for the installed one, and continues from there by its name.
		hops = append([]graph.Hop{{From: c.at.Name, To: same.Name}}, c.walk(c.kept, graph.Running(same), view)...)
	}
	c.follow(&r, view, hops)
	switch head := c.kept.Bundle(r.Head); {
	case c.operator.SelfCertified && head != nil && head.VersionErr == nil && head.Version.LT(c.at.Version):
		r.Outcome = Downgraded
		r.Explanation = fmt.Sprintf("it is downgraded to %s, the newest bundle in the mirror that the ClusterExtension allows: its upgradeConstraintPolicy is SelfCertified", r.Head)
	case r.Outcome == Ahead && len(hops) == 0 && same == nil && !inRange(c.at.Version):
		r.Outcome, r.Stuck = Stranded, c.at.Name
		r.Explanation = fmt.Sprintf("OLM v1 resolves no bundle: the version range %s of the ClusterExtension excludes the installed version, and no bundle in the range updates it", c.operator.Range)
		r.Fixes = []Fix{{Package: c.operator.Package, Message: fmt.Sprintf("set spec.source.catalog.version of %s to a range that includes %s", c.extensionName(), c.at.Version)}}
	case r.Outcome == Ahead && len(hops) == 0 && same == nil:
		r.Explanation += "; the catalog does not have it, so OLM v1 reports that it finds no bundle"
	}
	return r
}

// installedBundle returns the bundle that OLM v1 takes for the installed one: the bundle of the
// same name, else one of the same version and release; nil if the catalog has none.
func (c pathCheck) installedBundle(view graph.View) *catalog.Bundle {
	runs := catalog.NewVersionRelease(c.at.Version, c.at.Release)
	var found *catalog.Bundle
	for _, ch := range c.kept.Channels {
		if len(view.Channels) > 0 && !slices.Contains(view.Channels, ch.Name) {
			continue
		}
		for _, e := range ch.Entries {
			b := c.kept.Bundle(e.Name)
			if b == nil || b.VersionErr != nil || !view.Accept(b) || catalog.NewVersionRelease(b.Version, b.Release).Compare(runs) != 0 {
				continue
			}
			if b.Name == c.at.Name {
				return b
			}
			if found == nil || b.Name < found.Name {
				found = b
			}
		}
	}
	return found
}

// extensionName names the ClusterExtension. The name is unknown if the operator comes from a
// configuration.
func (c pathCheck) extensionName() string {
	if c.operator.Name == "" {
		return "the ClusterExtension"
	}
	return "the ClusterExtension " + c.operator.Name
}

// v1Head returns the bundle of a new installation by OLM v1, or "". A bundle that OLM v1 chooses
// and then refuses counts.
func (c pathCheck) v1Head() string {
	if c.edges == nil {
		return c.newInstallation()
	}
	key := joinChannels(c.operator.Channels)
	head, known := c.edges.heads[key]
	if !known {
		head = c.newInstallation()
		c.edges.heads[key] = head
	}
	return head
}

func (c pathCheck) newInstallation() string {
	e := extension.Extension{Package: c.operator.Package, Channels: c.operator.Channels, Version: c.operator.Range}
	r, err := extension.Resolve(e, []extension.Catalog{{Content: c.catalog.Kept}})
	if refused := (*extension.Error)(nil); errors.As(err, &refused) && len(refused.Considered) > 0 {
		return refused.Considered[0].Bundle
	}
	return r.Bundle
}

// follow sets the outcome of hops, their blocks, and the fixes if they do not lead to the head.
func (c pathCheck) follow(r *Path, view graph.View, hops []graph.Hop) {
	onward := ""
	if c.operator.Generation == graph.Classic {
		hops, onward = c.upToHead(r.Head, hops, view)
	}
	r.Hops = c.hops(hops)
	end := c.at.Name
	if len(hops) > 0 {
		end = hops[len(hops)-1].To
	}
	head := c.kept.Bundle(r.Head)
	switch {
	case c.at.Name == r.Head:
		r.Outcome, r.Explanation = AtHead, "it is at the head"+onward
	case end == r.Head:
		r.Outcome, r.Explanation = ReachesHead, fmt.Sprintf("it reaches the head %s", r.Head)+onward
	case len(hops) == 0 && head != nil && head.VersionErr == nil && c.at.Version.GTE(head.Version):
		r.Outcome = Ahead
		r.Explanation = fmt.Sprintf("it is not older than %s, the newest bundle in the mirror for it; OLM does not change it", r.Head)
	case c.operator.Generation == graph.V1 && c.atLeastHead(end, head):
		r.Outcome = Ahead
		r.Explanation = fmt.Sprintf("it reaches %s, which is not older than %s, the bundle of a new installation", end, r.Head)
	default:
		r.Outcome, r.Stuck = Stranded, end
		c.explainGap(r, view)
	}
	c.checkDependencies(r, view)
	c.stopAtRefusal(r, view)
	if r.Outcome != Stranded && r.Outcome != NeedsPinning {
		r.Stuck = ""
	}
	if len(r.Hops) > 0 {
		end = r.Hops[len(r.Hops)-1].To
	}
	if r.Outcome != Stranded && c.edges == nil {
		r.Blocks = endBlocks(c.facts(end), c.cluster)
	}
}

// upToHead cuts the hops of OLM classic off at the head, and explains hops after it: the skipRange
// of another entry may include the head, mostly an entry of the same precedence.
func (c pathCheck) upToHead(head string, hops []graph.Hop, view graph.View) ([]graph.Hop, string) {
	past := slices.IndexFunc(hops, func(h graph.Hop) bool { return h.From == head })
	if past < 0 {
		return hops, ""
	}
	next := hops[past]
	onward := fmt.Sprintf("; OLM classic continues, because the %s of %s includes it", next.Edge, next.To)
	if back, ok := c.updates(c.kept, view).Step(graph.Running(c.kept.Bundle(next.To))); ok && back.To == head {
		onward += ", and alternates between the two"
	}
	return hops[:past], onward
}

// stopAtRefusal ends a path of OLM v1 before an update that OLM v1 certainly refuses: it chooses a
// bundle first, and then retries it forever. Pinned versions may lead past it.
func (c pathCheck) stopAtRefusal(r *Path, view graph.View) {
	at := slices.IndexFunc(r.Hops, func(h Hop) bool {
		return slices.ContainsFunc(h.Blocks, func(b Block) bool { return b.Kind == Refused && !b.Possible })
	})
	if at < 0 {
		return
	}
	last := r.Hops[at]
	r.Outcome, r.Stuck, r.Hops = Stranded, last.From, r.Hops[:at+1]
	r.Explanation = fmt.Sprintf("it stops at %s: OLM v1 chooses %s next and refuses it", last.From, last.To)
	r.Fixes = nil
	view.Accept = func(b *catalog.Bundle) bool {
		return !slices.ContainsFunc(extension.Refusals(b), extension.Refusal.Certain)
	}
	if hops, ok := graph.Reachable(c.kept, c.at, r.Head, view, graph.AnyPath); ok && len(hops) > 0 {
		r.Outcome, r.Hops, r.Fixes = NeedsPinning, c.hops(hops), []Fix{c.pin(hops)}
	}
}

// pin returns the fix that leads OLM v1 along hops that it does not choose itself.
func (c pathCheck) pin(hops []graph.Hop) Fix {
	return Fix{Package: c.operator.Package, Message: fmt.Sprintf("set spec.source.catalog.version of %s to these versions, one after the other: %s", c.extensionName(), c.versions(hops))}
}

// atLeastHead reports whether a bundle is not older than the head. A deprecated bundle may be
// newer: OLM v1 updates to it, but installs it only if there is no other.
func (c pathCheck) atLeastHead(end string, head *catalog.Bundle) bool {
	b := c.kept.Bundle(end)
	return b != nil && head != nil && b.VersionErr == nil && head.VersionErr == nil && b.Version.GTE(head.Version)
}

// hops adds the blocks to updates.
func (c pathCheck) hops(hops []graph.Hop) []Hop {
	var all []Hop
	for _, h := range hops {
		hop := Hop{Channel: h.Channel, From: h.From, To: h.To, Edge: h.Edge}
		if c.edges == nil {
			hop.Blocks = append(hopBlocks(c.facts(h.From), c.facts(h.To), c.operator.Generation, c.cluster), c.dependencyBlocks(h.To)...)
		}
		all = append(all, hop)
	}
	return all
}

// facts returns the facts of a bundle in the mirror, else in the original catalog. Facts of the
// installed bundle that an outline omits come from the cluster.
func (c pathCheck) facts(name string) facts {
	var f facts
	if b := c.kept.Bundle(name); b != nil {
		f = factsOf(b)
	} else if c.source != nil && c.source.Bundle(name) != nil {
		f = factsOf(c.source.Bundle(name))
	}
	f.name = name
	if name == c.at.Name {
		f.max = cmp.Or(f.max, c.operator.MaxOpenShift)
		if len(f.apis) == 0 {
			f.apis = c.operator.APIs
		}
	}
	return f
}
