package sqlite

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// onePackage calls each for the objects of a package: the package, its channels, its bundles.
func (x *index) onePackage(ctx context.Context, p pkg, each func(*catalog.Meta) error) error {
	channels, err := x.channels(ctx, p.name)
	if err != nil {
		return err
	}
	edges, err := x.edges(ctx, p.name)
	if err != nil {
		return err
	}
	bundles := map[string]*row{}
	var metas []*catalog.Meta
	var head string // of the default channel
	for _, c := range channels {
		all, err := x.listed(ctx, entries(c.head, edges[c.name]), bundles)
		if err != nil {
			return err
		}
		if c.name == p.defaultChannel {
			head = c.head
		}
		if len(all) == 0 {
			continue
		}
		m, err := channelMeta(p.name, c.name, all)
		if err != nil {
			return err
		}
		metas = append(metas, m)
	}
	if len(metas) == 0 {
		return nil
	}
	m, err := x.packageMeta(ctx, p, head)
	if err != nil {
		return err
	}
	for _, m := range append([]*catalog.Meta{m}, metas...) {
		if err := each(m); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(bundles)) {
		if bundles[name] == nil {
			continue
		}
		m, err := x.bundleMeta(ctx, p.name, name, bundles[name])
		if err != nil {
			return fmt.Errorf("bundle %s: %w", name, err)
		}
		if err := each(m); err != nil {
			return err
		}
	}
	return nil
}

// listed returns the entries whose bundle is in the index and not deprecated, with their skipRange.
// It adds the rows to bundles, nil for other bundles.
func (x *index) listed(ctx context.Context, all []catalog.Entry, bundles map[string]*row) ([]catalog.Entry, error) {
	var kept []catalog.Entry
	for _, e := range all {
		r, known := bundles[e.Name]
		if !known {
			var err error
			if r, err = x.bundle(ctx, e.Name); err != nil {
				return nil, err
			}
			bundles[e.Name] = r
		}
		if r != nil {
			e.SkipRange = r.skipRange
			kept = append(kept, e)
		}
	}
	return kept, nil
}

// packageMeta returns the olm.package. Icon and description are those of the head of the default
// channel.
func (x *index) packageMeta(ctx context.Context, p pkg, head string) (*catalog.Meta, error) {
	type icon struct {
		Data      []byte `json:"base64data"`
		MediaType string `json:"mediatype"`
	}
	o := struct {
		Schema         string `json:"schema"`
		Name           string `json:"name"`
		DefaultChannel string `json:"defaultChannel"`
		Icon           *icon  `json:"icon,omitempty"`
		Description    string `json:"description,omitempty"`
	}{Schema: catalog.SchemaPackage, Name: p.name, DefaultChannel: p.defaultChannel}

	shown, err := x.shown(ctx, head)
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", head, err)
	}
	o.Description = shown.description
	if len(shown.icon) > 0 {
		o.Icon = &icon{shown.icon, shown.mediaType}
	}
	return meta(o, catalog.Meta{Schema: o.Schema, Package: p.name, Name: p.name})
}

func channelMeta(pkg, name string, entries []catalog.Entry) (*catalog.Meta, error) {
	type entry struct {
		Name      string   `json:"name"`
		Replaces  string   `json:"replaces,omitempty"`
		Skips     []string `json:"skips,omitempty"`
		SkipRange string   `json:"skipRange,omitempty"`
	}
	o := struct {
		Schema  string  `json:"schema"`
		Name    string  `json:"name"`
		Package string  `json:"package"`
		Entries []entry `json:"entries"`
	}{Schema: catalog.SchemaChannel, Name: name, Package: pkg}
	for _, e := range entries {
		o.Entries = append(o.Entries, entry(e))
	}
	return meta(o, catalog.Meta{Schema: o.Schema, Package: pkg, Name: name})
}

// meta returns the meta with the object as its text.
func meta(object any, m catalog.Meta) (*catalog.Meta, error) {
	var err error
	m.Raw, err = catalog.Marshal(object)
	return &m, err
}
