package upgrade

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/extension"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
)

// A trip is one operator in one catalog that keeps its package.
type trip struct {
	operator     installed.Operator
	at           graph.At
	catalog      Catalog
	kept, source *catalog.Package // source is nil where it is not known
	cluster      cluster
	supplies     *supplies
}

// subscription is the way of an operator of OLM classic: in the channel that it
// follows, or in each that it may follow.
func (t trip) subscription() []Route {
	if len(t.operator.Channels) > 0 {
		return []Route{t.channel(t.operator.Channels[0])}
	}
	var routes []Route
	for _, ch := range t.kept.Channels {
		if t.concerns(ch) {
			routes = append(routes, t.channel(ch.Name))
		}
	}
	if len(routes) == 0 {
		for _, ch := range t.kept.Channels {
			routes = append(routes, t.channel(ch.Name))
		}
	}
	return routes
}

// concerns reports whether a channel has anything to do with what is installed:
// it has the bundle or leads on from it, in the mirror or where it comes from.
func (t trip) concerns(ch *catalog.Channel) bool {
	entries := slices.Clone(ch.Entries)
	if t.source != nil {
		if original := t.source.Channel(ch.Name); original != nil {
			entries = append(entries, original.Entries...)
		}
	}
	return slices.ContainsFunc(entries, func(e catalog.Entry) bool {
		return e.Name == t.at.Name || graph.Edge(e, t.at.Name, t.at.Version)
	})
}

// channel is the way in one channel.
func (t trip) channel(name string) Route {
	r := Route{Catalog: t.catalog.Name, Channel: name, Outcome: Stranded, Stuck: t.at.Name}
	ch := t.kept.Channel(name)
	if ch == nil {
		t.noChannel(&r)
		return r
	}
	shape := graph.Inspect(ch.Entries)
	if !shape.Whole() {
		r.Why = fmt.Sprintf("OLM classic accepts no update from channel %s, which has no single head that everything leads to", name)
		return r
	}
	r.Head = shape.Heads[0]
	view := graph.View{Generation: graph.Classic, Channels: []string{name}}
	t.follow(&r, view, graph.Walk(t.kept, t.at, view))
	return r
}

// extension is the way of an operator of OLM v1.
func (t trip) extension() Route {
	r := Route{Catalog: t.catalog.Name, Outcome: Stranded, Stuck: t.at.Name}
	inRange, err := extension.Range(t.operator.Range)
	if err != nil {
		r.Why = err.Error()
		return r
	}
	r.Head = t.newest()
	if r.Head == "" {
		t.noHead(&r)
		return r
	}
	view := graph.View{
		Generation: graph.V1, Channels: t.operator.Channels,
		Accept: func(b *catalog.Bundle) bool { return inRange(b.Version) },
	}
	hops := graph.Walk(t.kept, t.at, view)
	stay := t.stay(view)
	switch {
	case t.operator.SelfCertified && t.at.Name != r.Head:
		hops = []graph.Hop{{From: t.at.Name, To: r.Head}}
	case len(hops) == 0 && stay != nil && stay.Name != t.at.Name:
		// OLM v1 takes it for what is installed, and goes on from there by its name.
		hops = append([]graph.Hop{{From: t.at.Name, To: stay.Name}}, graph.Walk(t.kept, graph.Running(stay), view)...)
	}
	t.follow(&r, view, hops)
	switch head := t.kept.Bundle(r.Head); {
	case t.operator.SelfCertified && head != nil && head.VersionErr == nil && head.Version.LT(t.at.Version):
		r.Outcome = Downgraded
		r.Why = fmt.Sprintf("it is downgraded to %s, the newest that the ClusterExtension may have of the mirror: its upgradeConstraintPolicy is SelfCertified", r.Head)
	case r.Outcome == Ahead && len(hops) == 0 && stay == nil && !inRange(t.at.Version):
		r.Outcome, r.Stuck = Stranded, t.at.Name
		r.Why = fmt.Sprintf("OLM v1 resolves nothing: the range %s of the ClusterExtension leaves out what runs, and nothing in the range is an update of it", t.operator.Range)
		r.Mends = []Mend{{Package: t.operator.Package, Message: fmt.Sprintf("set spec.source.catalog.version of %s to a range that %s lies in", t.named(), t.at.Version)}}
	case r.Outcome == Ahead && len(hops) == 0 && stay == nil:
		r.Why += "; since the catalog does not have it, OLM v1 reports that it finds no bundle"
	}
	return r
}

// stay is the bundle that OLM v1 takes for what is installed: that of its name,
// else one of its version and release; nil where the catalog has none.
func (t trip) stay(view graph.View) *catalog.Bundle {
	runs := catalog.NewVersionRelease(t.at.Version, t.at.Release)
	var found *catalog.Bundle
	for _, ch := range t.kept.Channels {
		if len(view.Channels) > 0 && !slices.Contains(view.Channels, ch.Name) {
			continue
		}
		for _, e := range ch.Entries {
			b := t.kept.Bundle(e.Name)
			if b == nil || b.VersionErr != nil || !view.Accept(b) || catalog.NewVersionRelease(b.Version, b.Release).Compare(runs) != 0 {
				continue
			}
			if b.Name == t.at.Name {
				return b
			}
			if found == nil || b.Name < found.Name {
				found = b
			}
		}
	}
	return found
}

// named is the ClusterExtension, whose name is not known where a configuration
// tells of it.
func (t trip) named() string {
	if t.operator.Name == "" {
		return "the ClusterExtension"
	}
	return "the ClusterExtension " + t.operator.Name
}

// newest is the bundle that OLM v1 installs anew, "" for none; a bundle that it
// chooses and then refuses counts.
func (t trip) newest() string {
	e := extension.Extension{Package: t.operator.Package, Channels: t.operator.Channels, Version: t.operator.Range}
	r, err := extension.Resolve(e, []extension.Catalog{{Content: t.catalog.Kept}})
	if refused := (*extension.Error)(nil); errors.As(err, &refused) && len(refused.Considered) > 0 {
		return refused.Considered[0].Bundle
	}
	return r.Bundle
}

// follow says where hops lead, and what helps where that is not the head.
func (t trip) follow(r *Route, view graph.View, hops []graph.Hop) {
	onward := ""
	if t.operator.Generation == graph.Classic {
		hops, onward = t.upToHead(r.Head, hops, view)
	}
	r.Hops = t.hops(hops)
	end := t.at.Name
	if len(hops) > 0 {
		end = hops[len(hops)-1].To
	}
	head := t.kept.Bundle(r.Head)
	switch {
	case t.at.Name == r.Head:
		r.Outcome, r.Why = AtHead, "it runs the head"+onward
	case end == r.Head:
		r.Outcome, r.Why = Reaches, fmt.Sprintf("it gets to the head %s", r.Head)+onward
	case len(hops) == 0 && head != nil && head.VersionErr == nil && t.at.Version.GTE(head.Version):
		r.Outcome = Ahead
		r.Why = fmt.Sprintf("it is not older than %s, the newest that the mirror has for it; it is left alone", r.Head)
	case t.operator.Generation == graph.V1 && t.passes(end, head):
		r.Outcome = Ahead
		r.Why = fmt.Sprintf("it gets to %s, which is not older than %s, what a new installation gets", end, r.Head)
	default:
		r.Outcome, r.Stuck = Stranded, end
		t.gap(r, view)
	}
	t.depend(r, view)
	t.refused(r, view)
	if r.Outcome != Stranded && r.Outcome != ByHand {
		r.Stuck = ""
	}
	if len(r.Hops) > 0 {
		end = r.Hops[len(r.Hops)-1].To
	}
	if r.Outcome != Stranded {
		r.Blocks = atEnd(t.facts(end), t.cluster)
	}
}

// upToHead are the hops of OLM classic up to the head, and what is to be said of
// those after it: the skipRange of another entry may take the head in, mostly one
// of the same precedence.
func (t trip) upToHead(head string, hops []graph.Hop, view graph.View) ([]graph.Hop, string) {
	past := slices.IndexFunc(hops, func(h graph.Hop) bool { return h.From == head })
	if past < 0 {
		return hops, ""
	}
	next := hops[past]
	onward := fmt.Sprintf("; OLM classic does not rest there, since the %s of %s takes it in", next.Edge, next.To)
	if back, ok := graph.Step(t.kept, graph.Running(t.kept.Bundle(next.To)), view); ok && back.To == head {
		onward += ": it goes there and back, again and again"
	}
	return hops[:past], onward
}

// refused ends a route of OLM v1 before an update that it is certain to refuse: it
// chooses first, and then tries that again and again. Who pins versions may get
// past it.
func (t trip) refused(r *Route, view graph.View) {
	at := slices.IndexFunc(r.Hops, func(h Hop) bool {
		return slices.ContainsFunc(h.Blocks, func(b Block) bool { return b.Kind == Refused && !b.May })
	})
	if at < 0 {
		return
	}
	last := r.Hops[at]
	r.Outcome, r.Stuck, r.Hops = Stranded, last.From, r.Hops[:at+1]
	r.Why = fmt.Sprintf("it gets no further than %s: OLM v1 chooses %s next, and refuses it", last.From, last.To)
	r.Mends = nil
	view.Accept = func(b *catalog.Bundle) bool {
		return !slices.ContainsFunc(extension.Refusals(b), extension.Refusal.Certain)
	}
	if hops, ok := graph.Reachable(t.kept, t.at, r.Head, view, graph.AnyPath); ok && len(hops) > 0 {
		r.Outcome, r.Hops, r.Mends = ByHand, t.hops(hops), []Mend{t.pin(hops)}
	}
}

// pin leads OLM v1 by hops that it does not choose itself.
func (t trip) pin(hops []graph.Hop) Mend {
	return Mend{Package: t.operator.Package, Message: fmt.Sprintf("set spec.source.catalog.version of %s to one after the other of: %s", t.named(), t.versions(hops))}
}

// passes reports whether a bundle is not older than the head: a deprecated one may
// be, which OLM v1 updates to and installs only where there is no other.
func (t trip) passes(end string, head *catalog.Bundle) bool {
	b := t.kept.Bundle(end)
	return b != nil && head != nil && b.VersionErr == nil && head.VersionErr == nil && b.Version.GTE(head.Version)
}

// hops are updates with what stands against them.
func (t trip) hops(hops []graph.Hop) []Hop {
	var all []Hop
	for _, h := range hops {
		all = append(all, Hop{
			Channel: h.Channel, From: h.From, To: h.To, Edge: h.Edge,
			Blocks: append(against(t.facts(h.From), t.facts(h.To), t.operator.Generation, t.cluster), t.dependencies(h.To)...),
		})
	}
	return all
}

// facts are those of a bundle in the mirror, else in the original catalog. What a
// cluster says of what it runs goes before what an outline leaves out.
func (t trip) facts(name string) facts {
	var f facts
	if b := t.kept.Bundle(name); b != nil {
		f = factsOf(b)
	} else if t.source != nil && t.source.Bundle(name) != nil {
		f = factsOf(t.source.Bundle(name))
	}
	f.name = name
	if name == t.at.Name {
		if f.max == "" {
			f.max = t.operator.MaxOpenShift
		}
		if len(f.apis) == 0 {
			f.apis = t.operator.APIs
		}
	}
	return f
}
