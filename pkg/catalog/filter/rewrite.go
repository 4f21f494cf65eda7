package filter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// rewritten returns the channel with the kept entries, or the original if it is unchanged.
func (k keptChannel) rewritten() (*catalog.Channel, error) {
	if !slices.Contains(k.keep, false) && len(k.skips) == 0 {
		return k.Channel, nil
	}
	ch := &catalog.Channel{Package: k.Package, Name: k.Name}
	skips := map[int][]string{} // by the position among the kept entries
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
	if k.Meta.Raw == nil { // an outline has no text
		ch.Meta = k.Meta
		return ch, nil
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

// withSkips replaces the skips of entries, numbered from 0, and nothing else: even the white space
// of other entries stays.
func withSkips(m *catalog.Meta, skips map[int][]string) (*catalog.Meta, error) {
	spans, err := entrySpans(m.Raw)
	if err != nil {
		return nil, fmt.Errorf("reading entries: %w", err)
	}
	changed, end := *m, 0
	changed.Raw = make([]byte, 0, len(m.Raw))
	for i, span := range spans {
		changed.Raw = append(changed.Raw, m.Raw[end:span[0]]...)
		entry := &catalog.Meta{Raw: m.Raw[span[0]:span[1]]}
		if names := skips[i]; len(names) > 0 {
			if entry, err = entry.With("skips", names); err != nil {
				return nil, err
			}
		}
		changed.Raw = append(changed.Raw, entry.Raw...)
		end = span[1]
	}
	changed.Raw = append(changed.Raw, m.Raw[end:]...)
	return &changed, nil
}

// entrySpans returns the start and end of each element of an object's entries.
func entrySpans(object []byte) ([][2]int, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if name, _ := key.(string); !strings.EqualFold(name, "entries") {
			if err := d.Decode(&value); err != nil {
				return nil, err
			}
			continue
		}
		if _, err := d.Token(); err != nil {
			return nil, err
		}
		var spans [][2]int
		for d.More() {
			if err := d.Decode(&value); err != nil {
				return nil, err
			}
			end := int(d.InputOffset())
			spans = append(spans, [2]int{end - len(value), end})
		}
		return spans, nil
	}
	return nil, nil
}

// deprecations keeps the deprecations of kept targets, by schema and name. It returns nil if none
// is left.
func deprecations(d *catalog.Deprecations, targets map[[2]string]bool) (*catalog.Deprecations, error) {
	kept := elements.Filter(d.Entries, func(e catalog.Deprecation) bool { return targets[[2]string{e.Schema, e.Name}] })
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
