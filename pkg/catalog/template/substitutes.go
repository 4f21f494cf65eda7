package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/validate"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A substitutesText is a substitutes template: a complete catalog, and bundles that take the places of others in its
// update graph.
type substitutesText struct {
	entries       []*catalog.Meta
	substitutions []substitution
}

// A substitution is the image of a new bundle, and the name of the bundle whose place it takes.
type substitution struct {
	Name string `json:"name"`
	Base string `json:"base"`
}

func readSubstitutes(name string, raw []byte) (*substitutesText, error) {
	var text struct {
		Entries       []json.RawMessage `json:"entries"`
		Substitutions []substitution    `json:"substitutions"`
	}
	if err := unmarshal(raw, &text, false); err != nil {
		return nil, err
	}
	if len(text.Entries) == 0 {
		return nil, fmt.Errorf("entries is empty or missing")
	}
	t := &substitutesText{substitutions: text.Substitutions}
	for i, entry := range text.Entries {
		found, err := objects(name, bytes.NewReader(entry))
		switch {
		case err != nil:
			return nil, fmt.Errorf("entries[%d]: %w", i, err)
		case len(found) != 1:
			return nil, fmt.Errorf("entries[%d] is not an object", i)
		}
		t.entries = append(t.entries, found[0])
	}
	bases := map[string]bool{}
	for i, s := range t.substitutions {
		switch {
		case s.Name == "" || s.Base == "" || s.Name == s.Base:
			return nil, fmt.Errorf("substitutions[%d]: it needs name, the image of a bundle, and base, the name of another bundle", i)
		case bases[s.Base]:
			return nil, fmt.Errorf("substitutions[%d]: the bundle %s has a substitute already", i, s.Base)
		}
		bases[s.Base] = true
	}
	return t, valid("entries", t.entries)
}

// images returns the images of the new bundles.
func (t *substitutesText) images() (images []string) {
	return elements.Map(t.substitutions, func(s substitution) string { return s.Name })
}

// A substitutedChannel is an olm.channel with all its fields.
type substitutedChannel struct {
	Schema     string            `json:"schema"`
	Name       string            `json:"name"`
	Package    string            `json:"package"`
	Entries    []channelEntry    `json:"entries"`
	Properties []json.RawMessage `json:"properties,omitempty"`

	changed bool
}

// A channelEntry is an entry of a channel.
type channelEntry struct {
	Name      string   `json:"name"`
	Replaces  string   `json:"replaces,omitempty"`
	Skips     []string `json:"skips,omitempty"`
	SkipRange string   `json:"skipRange,omitempty"`
}

// catalog returns the objects of the catalog after all substitutions, one after the other.
func (t *substitutesText) catalog(bundles map[string]*catalog.Meta) ([]*catalog.Meta, error) {
	metas := slices.Clone(t.entries)
	channels := map[int]*substitutedChannel{} // by the index of its object
	known := map[[2]string]bool{}             // package and name of bundles
	for i, m := range metas {
		switch m.Schema {
		case catalog.SchemaBundle:
			known[[2]string{m.Package, m.Name}] = true
		case catalog.SchemaChannel:
			c := &substitutedChannel{}
			if err := unmarshal(m.Raw, c, false); err != nil {
				return nil, fmt.Errorf("channel %s: %w", m.Name, err)
			}
			channels[i] = c
		}
	}
	for i, s := range t.substitutions {
		b := bundles[s.Name]
		if known[[2]string{b.Package, b.Name}] {
			return nil, fmt.Errorf("substitutions[%d]: the catalog has the bundle %s of %s already", i, b.Name, s.Name)
		}
		found := false
		for _, c := range channels {
			if c.Package == b.Package && c.substitute(s.Base, b.Name) {
				found = true
			}
		}
		if !found {
			return nil, fmt.Errorf("substitutions[%d]: no channel of package %s has the bundle %s", i, b.Package, s.Base)
		}
		known[[2]string{b.Package, b.Name}] = true
		metas = append(metas, b)
	}
	for i, c := range channels {
		if !c.changed {
			continue
		}
		m, err := encode(c, &catalog.Meta{Schema: catalog.SchemaChannel, Package: c.Package, Name: c.Name})
		if err != nil {
			return nil, err
		}
		metas[i] = m
	}
	if err := t.checkVersions(metas, bundles); err != nil {
		return nil, err
	}
	return metas, valid("the catalog after the substitutions", metas)
}

// valid returns an error if OLM rejects the catalog of these objects, as opm does for this template.
func valid(what string, metas []*catalog.Meta) error {
	c, err := catalog.New(metas)
	if err == nil {
		err = validate.Catalog(c)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// checkVersions returns an error if a bundle takes the place of one that is not older.
func (t *substitutesText) checkVersions(metas []*catalog.Meta, bundles map[string]*catalog.Meta) error {
	c, err := catalog.New(metas)
	if err != nil {
		return err
	}
	for i, s := range t.substitutions {
		m := bundles[s.Name]
		p := c.Package(m.Package)
		is, was := p.Bundle(m.Name), p.Bundle(s.Base)
		if was == nil || is.VersionErr != nil || was.VersionErr != nil {
			continue // what is wrong with them is found with the rest of the catalog
		}
		if catalog.NewVersionRelease(was.Version, was.Release).Compare(catalog.NewVersionRelease(is.Version, is.Release)) >= 0 {
			return fmt.Errorf("substitutions[%d]: the bundle %s (%s) is not older than its substitute %s (%s)", i, was.Name, was.Version, is.Name, is.Version)
		}
	}
	return nil
}

// substitute gives a bundle the place of another one, which it skips, and reports whether the channel has that one.
// Entries that replace or skip the other one are changed in any channel.
func (c *substitutedChannel) substitute(base, name string) (found bool) {
	var added []channelEntry
	for i := range c.Entries {
		switch e := &c.Entries[i]; {
		case e.Name == base:
			added = append(added, channelEntry{Name: name, Replaces: e.Replaces, Skips: append(slices.Clone(e.Skips), base), SkipRange: e.SkipRange})
			*e = channelEntry{Name: base}
		case e.Replaces == base:
			e.Replaces, e.Skips = name, append(slices.Clip(e.Skips), base)
		case slices.Contains(e.Skips, base):
			e.Skips = append(slices.DeleteFunc(slices.Clone(e.Skips), func(skipped string) bool { return skipped == base }), name)
		default:
			continue
		}
		c.changed = true
	}
	c.Entries = append(c.Entries, added...)
	return len(added) > 0
}
