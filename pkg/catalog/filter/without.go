package filter

import (
	"fmt"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// A Left is what Without left of a package.
type Left struct {
	Package string
	// Needed are channels that would not be valid without the bundles. They keep them.
	Needed []string
	// Dropped are channels that had no other bundles.
	Dropped []string
	// DefaultChannel is the new default channel if the original one was dropped, else "".
	DefaultChannel string
}

// Without returns a catalog as if bundles had not been published yet: drop has their names by package. Their channel entries
// are removed, and with them channels and packages that have no others. Edges of the other entries stay as they are. A channel that
// OLM would not accept without them, since it would have no single head, keeps all its entries. If the default channel is
// dropped, the remaining one with the highest version at its head becomes the default. Outlines are not changed.
func Without(c *catalog.Catalog, drop map[string]map[string]bool) (*catalog.Catalog, []Left, error) {
	rest := *c
	rest.Packages, rest.Names = nil, slices.Clone(c.Names)
	var all []Left
	for _, p := range c.Packages {
		if len(drop[p.Name]) == 0 {
			rest.Packages = append(rest.Packages, p)
			continue
		}
		q, left, err := withoutBundles(p, drop[p.Name])
		if err != nil {
			return nil, nil, err
		}
		all = append(all, left)
		if q == nil {
			rest.Names = slices.DeleteFunc(rest.Names, func(name string) bool { return name == p.Name })
			continue
		}
		rest.Packages = append(rest.Packages, q)
	}
	return &rest, all, nil
}

// withoutBundles is Without for a package. It returns nil if no channel is left.
func withoutBundles(p *catalog.Package, drop map[string]bool) (*catalog.Package, Left, error) {
	q, left := *p, Left{Package: p.Name}
	q.Channels = nil
	kept := map[string]bool{}
	for _, ch := range p.Channels {
		k := keptChannel{Channel: ch, keep: make([]bool, len(ch.Entries))}
		var entries []catalog.Entry
		for i, e := range ch.Entries {
			if k.keep[i] = !drop[e.Name]; k.keep[i] {
				entries = append(entries, e)
			}
		}
		switch {
		case len(entries) == 0:
			left.Dropped = append(left.Dropped, ch.Name)
			continue
		case len(entries) < len(ch.Entries) && !graph.Inspect(entries).Valid() && graph.Inspect(ch.Entries).Valid():
			left.Needed = append(left.Needed, ch.Name)
			q.Channels = append(q.Channels, ch)
		default:
			shorter, err := k.rewritten()
			if err != nil {
				return nil, left, err
			}
			q.Channels = append(q.Channels, shorter)
		}
		for _, e := range q.Channels[len(q.Channels)-1].Entries {
			kept[e.Name] = true
		}
	}
	if len(q.Channels) == 0 {
		return nil, left, nil
	}
	targets := map[[2]string]bool{{catalog.SchemaPackage, ""}: true}
	for _, ch := range q.Channels {
		targets[[2]string{catalog.SchemaChannel, ch.Name}] = true
	}
	q.Bundles = slices.DeleteFunc(slices.Clone(p.Bundles), func(b *catalog.Bundle) bool { return drop[b.Name] && !kept[b.Name] })
	for _, b := range q.Bundles {
		targets[[2]string{catalog.SchemaBundle, b.Name}] = true
	}
	q.Deprecations = nil
	for _, d := range p.Deprecations {
		d, err := deprecations(d, targets)
		if err != nil {
			return nil, left, fmt.Errorf("filtering deprecations: %w", err)
		}
		if d != nil {
			q.Deprecations = append(q.Deprecations, d)
		}
	}
	if !slices.Contains(left.Dropped, p.DefaultChannel) {
		return &q, left, nil
	}
	left.DefaultChannel = newestChannel(&q)
	q.DefaultChannel = left.DefaultChannel
	if len(p.Metas) > 0 {
		m, err := p.Metas[0].With("defaultChannel", q.DefaultChannel)
		if err != nil {
			return nil, left, err
		}
		q.Metas = append([]*catalog.Meta{m}, p.Metas[1:]...)
	}
	return &q, left, nil
}

// newestChannel returns the channel whose head has the highest version.
func newestChannel(p *catalog.Package) string {
	name, highest := p.Channels[0].Name, semver.Version{}
	for _, ch := range p.Channels {
		for _, head := range graph.Inspect(ch.Entries).Heads {
			if b := p.Bundle(head); b != nil && b.VersionErr == nil && b.Version.GT(highest) {
				name, highest = ch.Name, b.Version
			}
		}
	}
	return name
}
