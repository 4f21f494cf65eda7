package filter

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// rewritten is the channel with the kept entries; the original where all are
// kept as they are.
func (k keptChannel) rewritten() (*catalog.Channel, error) {
	if !slices.Contains(k.keep, false) && len(k.skips) == 0 {
		return k.Channel, nil
	}
	ch := &catalog.Channel{Package: k.Package, Name: k.Name}
	skips := map[int][]string{} // by the place among those kept
	for i, e := range k.Channel.Entries {
		if !k.keep[i] {
			continue
		}
		if more := k.skips[i]; len(more) > 0 {
			e.Skips = slices.Concat(e.Skips, more)
			skips[len(ch.Entries)] = e.Skips
		}
		ch.Entries = append(ch.Entries, e)
	}
	var err error
	if ch.Meta, err = k.Meta.KeepElements("entries", func(i int) bool { return k.keep[i] }); err != nil {
		return nil, err
	}
	if len(skips) > 0 {
		ch.Meta, err = withSkips(ch.Meta, skips)
	}
	return ch, err
}

// withSkips replaces the skips of entries, which are counted from 0.
func withSkips(m *catalog.Meta, skips map[int][]string) (*catalog.Meta, error) {
	var channel struct {
		Entries []json.RawMessage `json:"entries"`
	}
	if err := json.Unmarshal(m.Raw, &channel); err != nil {
		return nil, fmt.Errorf("reading entries: %w", err)
	}
	for i, names := range skips {
		entry, err := (&catalog.Meta{Raw: channel.Entries[i]}).With("skips", names)
		if err != nil {
			return nil, err
		}
		channel.Entries[i] = entry.Raw
	}
	return m.With("entries", channel.Entries)
}

// deprecations keeps those whose target is kept, by schema and name. It is nil
// where that leaves none of some.
func deprecations(d *catalog.Deprecations, targets map[[2]string]bool) (*catalog.Deprecations, error) {
	var kept []catalog.Deprecation
	for _, e := range d.Entries {
		if targets[[2]string{e.Schema, e.Name}] {
			kept = append(kept, e)
		}
	}
	switch {
	case len(kept) == len(d.Entries):
		return d, nil
	case len(kept) == 0:
		return nil, nil
	}
	m, err := d.Meta.KeepElements("entries", func(i int) bool { return targets[[2]string{d.Entries[i].Schema, d.Entries[i].Name}] })
	if err != nil {
		return nil, err
	}
	return &catalog.Deprecations{Meta: m, Package: d.Package, Entries: kept}, nil
}
