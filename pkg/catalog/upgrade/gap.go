package upgrade

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// explainGap explains why a path ends before the head, and sets the fixes that would close the gap.
func (c pathCheck) explainGap(r *Path, view graph.View) {
	view.Accept = nil // an administrator who pins versions also sets the range
	if c.operator.Generation == graph.V1 {
		if hops, ok := c.reachable(c.kept, r.Head, view, graph.AnyPath); ok {
			r.Outcome, r.Hops = NeedsPinning, c.hops(hops)
			r.Explanation = fmt.Sprintf("it stops at %s: OLM v1 chooses the highest version that it finds, and no upgrade path leads from there to the head %s", r.Stuck, r.Head)
			r.Fixes = []Fix{c.pin(hops)}
			return
		}
	}
	r.Explanation = fmt.Sprintf("there is no upgrade path to the head %s", r.Head)
	if r.Stuck != c.at.Name {
		r.Explanation = fmt.Sprintf("it stops at %s: no upgrade path leads from there to the head %s", r.Stuck, r.Head)
	}
	if c.source == nil {
		r.Fixes = []Fix{{
			Catalog: c.catalog.Name, Package: c.operator.Package,
			Message: fmt.Sprintf("the original catalog is not available to tell which bundles are missing; add %s to installed of the catalog and plan again", c.installedEntries()),
		}}
		return
	}
	hops, ok := c.reachable(c.source, r.Head, view, graph.AnyPath)
	if !ok {
		r.Explanation += c.upstreamNote(view)
		r.Fixes = c.alternatives(r.Channel)
		return
	}
	within := view
	if within.Channels = c.keptChannels(view.Channels); len(within.Channels) > 0 {
		var inside []graph.Hop
		if inside, ok = c.reachable(c.source, r.Head, within, graph.AnyPath); ok {
			hops = inside
		}
	}
	if !ok {
		r.Fixes = []Fix{c.addChannels(hops)}
		return
	}
	m := Fix{Catalog: c.catalog.Name, Package: c.operator.Package, Channel: r.Channel}
	var least *semver.Version
	channels := map[string]bool{}
	for _, h := range hops {
		if c.keeps(h) {
			continue
		}
		if !slices.Contains(m.Keep, h.To) {
			m.Keep = append(m.Keep, h.To)
		}
		channels[h.Channel] = true
		if b := c.source.Bundle(h.To); b != nil && b.VersionErr == nil && (least == nil || b.Version.LT(*least)) {
			least = &b.Version
		}
	}
	if len(m.Keep) == 0 {
		r.Explanation = fmt.Sprintf("it stops at %s: the mirror has every bundle of an upgrade path to the head %s, but OLM classic chooses another update", r.Stuck, r.Head)
		r.Fixes = c.alternatives(r.Channel)
		return
	}
	// With several channels, some may have no versions from the minimum on, which is an error in
	// the configuration unless the range is set for one channel only.
	only := len(c.kept.Channels) == 1
	if least != nil && (only || len(channels) == 1) {
		m.MinVersion = least.String()
	}
	m.Message = fmt.Sprintf("keep %s: add %s to installed of the catalog in the configuration", someNames(m.Keep), c.installedEntries())
	if m.MinVersion != "" {
		m.Message += ", or set minVersion: " + m.MinVersion
		for name := range channels {
			if !only {
				m.Channel = name
				m.Message += fmt.Sprintf(" for channel %s, and list the other channels too", name)
			}
		}
	}
	r.Fixes = []Fix{m}
}

// maxKeep is the number of bundles that a message lists. Fix.Keep has all.
const maxKeep = 10

// someNames joins names, of a long list the first ones.
func someNames(names []string) string {
	if len(names) <= maxKeep {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}

// keptChannels returns the given channels that the mirror has, or all its channels if none are
// given.
func (c pathCheck) keptChannels(channels []string) []string {
	var kept []string
	for _, ch := range c.kept.Channels {
		if len(channels) == 0 || slices.Contains(channels, ch.Name) {
			kept = append(kept, ch.Name)
		}
	}
	return kept
}

// addChannels returns the fix for a gap that only channels excluded from the mirror can close.
func (c pathCheck) addChannels(hops []graph.Hop) Fix {
	var names []string
	for _, h := range hops {
		if c.kept.Channel(h.Channel) == nil && !slices.Contains(names, h.Channel) {
			names = append(names, h.Channel)
		}
	}
	return Fix{Catalog: c.catalog.Name, Package: c.operator.Package, Channel: names[0], Message: fmt.Sprintf(
		"add channel %s to package %s in the configuration, and %s to installed of the catalog",
		strings.Join(names, " and "), c.operator.Package, c.installedEntries())}
}

// keeps reports whether the mirror has the channel entry that a hop in the original catalog leads
// to.
func (c pathCheck) keeps(h graph.Hop) bool {
	ch := c.kept.Channel(h.Channel)
	return ch != nil && hasEntry(ch, h.To)
}

// upstreamNote explains that the original catalog has no upgrade path either.
func (c pathCheck) upstreamNote(view graph.View) string {
	hops := c.walk(c.source, c.at, view)
	if len(hops) == 0 {
		return "; the publisher offers no update for it"
	}
	return fmt.Sprintf("; the publisher's updates end at %s", hops[len(hops)-1].To)
}

// alternatives returns what to change on the cluster: for a Subscription, the other channels of the
// mirror in which the operator reaches the head.
func (c pathCheck) alternatives(except string) []Fix {
	if c.operator.Generation == graph.V1 {
		isOther := func(ch *catalog.Channel) bool { return !slices.Contains(c.operator.Channels, ch.Name) }
		if len(c.operator.Channels) > 0 && slices.ContainsFunc(c.kept.Channels, isOther) {
			return []Fix{{Package: c.operator.Package, Message: fmt.Sprintf("choose channels other than %s in %s, or reinstall the operator", strings.Join(c.operator.Channels, ", "), c.extensionName())}}
		}
		return []Fix{{Package: c.operator.Package, Message: fmt.Sprintf("reinstall it, or set upgradeConstraintPolicy: SelfCertified in %s if the publisher says that it is safe", c.extensionName())}}
	}
	var names []string
	for _, ch := range c.kept.Channels {
		shape := graph.Inspect(ch.Entries)
		if ch.Name == except || !shape.Valid() {
			continue
		}
		view := graph.View{Generation: graph.Classic, Channels: []string{ch.Name}}
		if _, ok := c.reachable(c.kept, shape.Heads[0], view, graph.Automatic); ok {
			names = append(names, ch.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []Fix{{Package: c.operator.Package, Message: fmt.Sprintf("set the channel of the Subscription to one with an upgrade path: %s", strings.Join(names, ", "))}}
}

// versions joins the versions of the bundles that hops lead to.
func (c pathCheck) versions(hops []graph.Hop) string {
	all := elements.Map(hops, func(h graph.Hop) string { return c.kept.Bundle(h.To).Version.String() })
	return strings.Join(all, ", ")
}

// noChannel explains a channel that is missing from the mirror.
func (c pathCheck) noChannel(r *Path) {
	switch {
	case c.source == nil:
		r.Explanation = fmt.Sprintf("it follows channel %s, which the mirror does not have", r.Channel)
		r.Fixes = []Fix{{Catalog: c.catalog.Name, Package: c.operator.Package, Channel: r.Channel, Message: fmt.Sprintf("mirror channel %s of package %s", r.Channel, c.operator.Package)}}
	case c.source.Channel(r.Channel) != nil:
		r.Explanation = fmt.Sprintf("it follows channel %s, which is not mirrored", r.Channel)
		r.Fixes = []Fix{{Catalog: c.catalog.Name, Package: c.operator.Package, Channel: r.Channel, Message: fmt.Sprintf("add channel %s to package %s in the configuration, and %s to installed of the catalog", r.Channel, c.operator.Package, c.installedEntries())}}
	default:
		r.Explanation = fmt.Sprintf("it follows channel %s, which is not in the publisher's catalog", r.Channel)
	}
	r.Fixes = append(r.Fixes, c.alternatives(r.Channel)...)
}

// noHead explains that OLM v1 finds no bundle of the package.
func (c pathCheck) noHead(r *Path) {
	r.Explanation = "the mirror has no bundle"
	missing := elements.Filter(c.operator.Channels, func(name string) bool { return c.kept.Channel(name) == nil })
	if len(c.operator.Channels) > 0 {
		r.Explanation += " in channel " + strings.Join(c.operator.Channels, ", ")
	}
	if c.operator.Range != "" {
		r.Explanation += " in the range " + c.operator.Range
	}
	r.Explanation += ", to which the ClusterExtension is limited"
	for _, name := range missing {
		if c.source == nil || c.source.Channel(name) != nil {
			r.Fixes = append(r.Fixes, Fix{Catalog: c.catalog.Name, Package: c.operator.Package, Channel: name, Message: fmt.Sprintf("add channel %s to package %s in the configuration, and %s to installed of the catalog", name, c.operator.Package, c.installedEntries())})
		}
	}
}

// maxEntries is the number of entries of installed that a fix spells out.
const maxEntries = 3

// installedEntries formats the operators that a fix is for as entries of installed.
func (c pathCheck) installedEntries() string {
	all := slices.Concat([]installed.Operator{c.operator}, c.like)
	texts := elements.Map(all[:min(len(all), maxEntries)], installedEntry)
	text := strings.Join(texts, ", ")
	if more := len(all) - maxEntries; more > 0 {
		text += fmt.Sprintf(" and %d more like these", more)
	}
	return text
}

// installedEntry formats an operator as an entry of installed in a configuration.
func installedEntry(o installed.Operator) string {
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

// quoteYAML quotes what YAML would read as a number, such as a channel named 1.0.
func quoteYAML(s string) string {
	if strings.Trim(s, "0123456789.") == "" {
		return fmt.Sprintf("%q", s)
	}
	return s
}
