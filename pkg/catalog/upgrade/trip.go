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
	if t.operator.SelfCertified && t.at.Name != r.Head {
		hops = []graph.Hop{{From: t.at.Name, To: r.Head}}
	}
	t.follow(&r, view, hops)
	if r.Outcome == Ahead && t.kept.Bundle(t.at.Name) == nil {
		r.Why += "; since the catalog does not have it, OLM v1 reports that it finds no bundle"
	}
	return r
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
	r.Hops = t.hops(hops)
	end := t.at.Name
	if len(hops) > 0 {
		end = hops[len(hops)-1].To
	}
	head := t.kept.Bundle(r.Head)
	switch {
	case t.at.Name == r.Head:
		r.Outcome, r.Why = AtHead, "it runs the head"
	case end == r.Head:
		r.Outcome, r.Why = Reaches, fmt.Sprintf("it gets to the head %s", r.Head)
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
			Blocks: against(t.facts(h.From), t.facts(h.To), t.operator.Generation, t.cluster),
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
