package author

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A Target is what is deprecated: a bundle or a channel of a package, or the package itself if both are
// empty.
type Target struct {
	Channel, Bundle string
}

// A reference is a target in an olm.deprecations entry.
type reference struct {
	Schema string `json:"schema"`
	Name   string `json:"name,omitempty"`
}

func (t Target) reference() reference {
	switch {
	case t.Bundle != "":
		return reference{catalog.SchemaBundle, t.Bundle}
	case t.Channel != "":
		return reference{catalog.SchemaChannel, t.Channel}
	}
	return reference{Schema: catalog.SchemaPackage}
}

// String returns the target for messages.
func (t Target) String() string {
	switch {
	case t.Bundle != "":
		return fmt.Sprintf("bundle %q", t.Bundle)
	case t.Channel != "":
		return fmt.Sprintf("channel %q", t.Channel)
	}
	return "the package"
}

// Deprecate returns the olm.deprecations object of a package with a message for the target, which
// replaces an existing one; an empty message removes the entry. The object is the package's own with
// that one change, or a new one; it is nil if no entry is left. before is the object that it replaces,
// nil if none.
func Deprecate(p *catalog.Package, target Target, message string) (before, after *catalog.Meta, err error) {
	if err := exists(p, target); err != nil {
		return nil, nil, err
	}
	ref := target.reference()
	if len(p.Deprecations) > 1 {
		return nil, nil, fmt.Errorf("package %q has %d olm.deprecations objects, but OLM accepts only one; merge them first", p.Name, len(p.Deprecations))
	}
	if len(p.Deprecations) == 0 {
		if message == "" {
			return nil, nil, fmt.Errorf("package %q: %s is not deprecated", p.Name, target)
		}
		after, err := newDeprecations(p.Name, ref, message)
		return nil, after, err
	}
	d := p.Deprecations[0]
	at := -1
	for i, e := range d.Entries {
		if e.Schema == ref.Schema && e.Name == ref.Name {
			at = i
		}
	}
	switch {
	case message != "":
		after, err = withEntry(d, at, ref, message)
	case at < 0:
		return nil, nil, fmt.Errorf("package %q: %s is not deprecated", p.Name, target)
	case len(d.Entries) > 1:
		after, err = d.Meta.KeepElements("entries", func(i int) bool { return i != at })
	}
	return d.Meta, after, err
}

func exists(p *catalog.Package, t Target) error {
	var kind, name string
	var names []string
	switch {
	case t.Bundle != "" && p.Bundle(t.Bundle) == nil:
		kind, name = "bundle", t.Bundle
		for _, b := range p.Bundles {
			names = append(names, b.Name)
		}
	case t.Bundle == "" && t.Channel != "" && p.Channel(t.Channel) == nil:
		kind, name = "channel", t.Channel
		for _, c := range p.Channels {
			names = append(names, c.Name)
		}
	default:
		return nil
	}
	hint := cmp.Or(suggest.Phrase(name, names), "it has "+strings.Join(names, ", "))
	return fmt.Errorf("package %q has no %s %q; %s", p.Name, kind, name, hint)
}

type entry struct {
	Reference reference `json:"reference"`
	Message   string    `json:"message"`
}

func newDeprecations(pkg string, ref reference, message string) (*catalog.Meta, error) {
	raw, err := catalog.Marshal(struct {
		Schema  string  `json:"schema"`
		Package string  `json:"package"`
		Entries []entry `json:"entries"`
	}{catalog.SchemaDeprecations, pkg, []entry{{ref, message}}})
	if err != nil {
		return nil, fmt.Errorf("writing the deprecations of package %q: %w", pkg, err)
	}
	return &catalog.Meta{Schema: catalog.SchemaDeprecations, Package: pkg, Raw: raw}, nil
}

// withEntry replaces entry number at, or adds one if at is negative. The others stay as they are, with
// all their fields.
func withEntry(d *catalog.Deprecations, at int, ref reference, message string) (*catalog.Meta, error) {
	var object struct {
		Entries []json.RawMessage `json:"entries"`
	}
	if err := json.Unmarshal(d.Meta.Raw, &object); err != nil {
		return nil, fmt.Errorf("reading the deprecations of package %q: %w", d.Package, err)
	}
	raw, err := catalog.Marshal(entry{ref, message})
	if err != nil {
		return nil, fmt.Errorf("writing the deprecations of package %q: %w", d.Package, err)
	}
	if at < 0 {
		object.Entries = append(object.Entries, raw)
	} else {
		object.Entries[at] = raw
	}
	return d.Meta.With("entries", object.Entries)
}
