package upgrade

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
)

// gap says why a route ends before the head, and what would close it.
func (t trip) gap(r *Route, view graph.View) {
	stuck := fmt.Sprintf("it gets no further than %s", r.Stuck)
	if r.Stuck == t.at.Name {
		stuck = "there is no update for it"
	}
	view.Accept = nil // who pins versions sets the range, too
	if t.operator.Generation == graph.V1 {
		if hops, ok := graph.Reachable(t.kept, t.at, r.Head, view, graph.AnyPath); ok {
			r.Outcome, r.Hops = ByHand, t.hops(hops)
			r.Why = fmt.Sprintf("by itself %s: OLM v1 takes the highest version that it finds, and from there none leads to the head %s", stuck, r.Head)
			r.Mends = []Mend{t.pin(hops)}
			return
		}
	}
	r.Why = fmt.Sprintf("%s that leads to the head %s", stuck, r.Head)
	if r.Stuck != t.at.Name {
		r.Why = fmt.Sprintf("%s: from there nothing leads to the head %s", stuck, r.Head)
	}
	if t.source == nil {
		r.Mends = []Mend{{
			Catalog: t.catalog.Name, Package: t.operator.Package,
			Message: fmt.Sprintf("the original of the catalog is not at hand to say what is missing; plan again with %s in installed of the catalog", entry(t.operator)),
		}}
		return
	}
	hops, ok := graph.Reachable(t.source, t.at, r.Head, view, graph.AnyPath)
	if !ok {
		r.Why += t.published(view)
		r.Mends = t.elsewhere(r.Channel)
		return
	}
	within := view
	if within.Channels = t.keptChannels(view.Channels); len(within.Channels) > 0 {
		var inside []graph.Hop
		if inside, ok = graph.Reachable(t.source, t.at, r.Head, within, graph.AnyPath); ok {
			hops = inside
		}
	}
	if !ok {
		r.Mends = []Mend{t.addChannels(hops)}
		return
	}
	m := Mend{Catalog: t.catalog.Name, Package: t.operator.Package, Channel: r.Channel}
	var least *semver.Version
	channels := map[string]bool{}
	for _, h := range hops {
		if t.keeps(h) {
			continue
		}
		if !slices.Contains(m.Keep, h.To) {
			m.Keep = append(m.Keep, h.To)
		}
		channels[h.Channel] = true
		if b := t.source.Bundle(h.To); b != nil && b.VersionErr == nil && (least == nil || b.Version.LT(*least)) {
			least = &b.Version
		}
	}
	if len(m.Keep) == 0 {
		r.Why += ", although the mirror has what leads there: OLM classic chooses another update on the way"
		r.Mends = t.elsewhere(r.Channel)
		return
	}
	// Of several channels not all may have versions from there on, which is an error
	// of the configuration, unless the range is that of the one.
	only := len(t.kept.Channels) == 1
	if least != nil && (only || len(channels) == 1) {
		m.MinVersion = least.String()
	}
	m.Message = fmt.Sprintf("keep %s: add %s to installed of the catalog in the configuration", strings.Join(m.Keep, ", "), entry(t.operator))
	if m.MinVersion != "" {
		m.Message += ", or set minVersion: " + m.MinVersion
		for name := range channels {
			if !only {
				m.Channel = name
				m.Message += fmt.Sprintf(" of channel %s, with the other channels named beside it", name)
			}
		}
	}
	r.Mends = []Mend{m}
}

// keptChannels are those of the channels, or of all, that the mirror has.
func (t trip) keptChannels(channels []string) []string {
	var kept []string
	for _, ch := range t.kept.Channels {
		if len(channels) == 0 || slices.Contains(channels, ch.Name) {
			kept = append(kept, ch.Name)
		}
	}
	return kept
}

// addChannels mends a gap that only channels close that the mirror leaves out.
func (t trip) addChannels(hops []graph.Hop) Mend {
	var names []string
	for _, h := range hops {
		if t.kept.Channel(h.Channel) == nil && !slices.Contains(names, h.Channel) {
			names = append(names, h.Channel)
		}
	}
	return Mend{Catalog: t.catalog.Name, Package: t.operator.Package, Channel: names[0], Message: fmt.Sprintf(
		"add channel %s to package %s in the configuration, and %s to installed of the catalog",
		strings.Join(names, " and "), t.operator.Package, entry(t.operator))}
}

// keeps reports whether the mirror has the entry that a hop of the original leads
// to, in its channel.
func (t trip) keeps(h graph.Hop) bool {
	ch := t.kept.Channel(h.Channel)
	if ch == nil {
		return false
	}
	for _, e := range ch.Entries {
		if e.Name == h.To {
			return true
		}
	}
	return false
}

// published says that the original has no way either.
func (t trip) published(view graph.View) string {
	hops := graph.Walk(t.source, t.at, view)
	if len(hops) == 0 {
		return "; the publisher offers no update from it there"
	}
	return fmt.Sprintf("; the publisher's own updates go from it to %s, and not there", hops[len(hops)-1].To)
}

// elsewhere are the other channels of the mirror by which a Subscription gets
// to a head.
func (t trip) elsewhere(except string) []Mend {
	if t.operator.Generation == graph.V1 {
		if len(t.operator.Channels) > 0 {
			return []Mend{{Package: t.operator.Package, Message: fmt.Sprintf("look for an update in other channels than %s of %s, or install it anew", strings.Join(t.operator.Channels, ", "), t.named())}}
		}
		return []Mend{{Package: t.operator.Package, Message: fmt.Sprintf("install it anew, or set upgradeConstraintPolicy: SelfCertified in %s if the publisher says that it is safe", t.named())}}
	}
	var names []string
	for _, ch := range t.kept.Channels {
		shape := graph.Inspect(ch.Entries)
		if ch.Name == except || !shape.Whole() {
			continue
		}
		view := graph.View{Generation: graph.Classic, Channels: []string{ch.Name}}
		if _, ok := graph.Reachable(t.kept, t.at, shape.Heads[0], view, graph.Automatic); ok {
			names = append(names, ch.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []Mend{{Package: t.operator.Package, Message: fmt.Sprintf("set the channel of the Subscription to one that leads on: %s", strings.Join(names, ", "))}}
}

// versions are those of the bundles that hops lead to.
func (t trip) versions(hops []graph.Hop) string {
	var all []string
	for _, h := range hops {
		all = append(all, t.kept.Bundle(h.To).Version.String())
	}
	return strings.Join(all, ", ")
}

// noChannel says what it means that the mirror lacks the channel.
func (t trip) noChannel(r *Route) {
	switch {
	case t.source == nil:
		r.Why = fmt.Sprintf("the mirror does not have channel %s, which it follows", r.Channel)
		r.Mends = []Mend{{Catalog: t.catalog.Name, Package: t.operator.Package, Channel: r.Channel, Message: fmt.Sprintf("mirror channel %s of package %s", r.Channel, t.operator.Package)}}
	case t.source.Channel(r.Channel) != nil:
		r.Why = fmt.Sprintf("the mirror leaves out channel %s, which it follows", r.Channel)
		r.Mends = []Mend{{Catalog: t.catalog.Name, Package: t.operator.Package, Channel: r.Channel, Message: fmt.Sprintf("add channel %s to package %s in the configuration, and %s to installed of the catalog", r.Channel, t.operator.Package, entry(t.operator))}}
	default:
		r.Why = fmt.Sprintf("it follows channel %s, which the publisher does not have (any more)", r.Channel)
	}
	r.Mends = append(r.Mends, t.elsewhere(r.Channel)...)
}

// noHead says what it means that OLM v1 finds nothing of the package.
func (t trip) noHead(r *Route) {
	r.Why = "the mirror has no bundle"
	var missing []string
	for _, name := range t.operator.Channels {
		if t.kept.Channel(name) == nil {
			missing = append(missing, name)
		}
	}
	if len(t.operator.Channels) > 0 {
		r.Why += " in channel " + strings.Join(t.operator.Channels, ", ")
	}
	if t.operator.Range != "" {
		r.Why += " in the range " + t.operator.Range
	}
	r.Why += ", to which the ClusterExtension is limited"
	for _, name := range missing {
		if t.source == nil || t.source.Channel(name) != nil {
			r.Mends = append(r.Mends, Mend{Catalog: t.catalog.Name, Package: t.operator.Package, Channel: name, Message: fmt.Sprintf("add channel %s to package %s in the configuration, and %s to installed of the catalog", name, t.operator.Package, entry(t.operator))})
		}
	}
}

// entry is how an operator stands in installed of a configuration.
func entry(o installed.Operator) string {
	e := o.Entry()
	text := "{package: " + e.Package
	if e.Bundle != "" {
		text += ", bundle: " + e.Bundle
	}
	if e.Version != "" {
		text += ", version: " + e.Version
	}
	if e.Channel != "" {
		text += ", channel: " + quoteYAML(e.Channel)
	}
	return text + "}"
}

// quoteYAML puts quotes around what YAML would take for something else than a
// string: a channel called 1.0.
func quoteYAML(s string) string {
	if strings.Trim(s, "0123456789.") == "" {
		return fmt.Sprintf("%q", s)
	}
	return s
}
