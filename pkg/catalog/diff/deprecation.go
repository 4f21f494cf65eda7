package diff

import (
	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// deprecations compares the deprecations of a package.
func (d *Diff) deprecations(pkg string, before, after []*catalog.Deprecations) {
	listed := len(d.Deprecations)
	key := func(e *catalog.Deprecation) string { return e.Schema + "\x00" + e.Name }
	for _, both := range pair(deprecated(before), deprecated(after), key) {
		old, now := both.before, both.after
		e := Deprecation{Change: both.change(), Package: pkg}
		switch e.Change {
		case Added:
			e.Schema, e.Name, e.Message = now.Schema, now.Name, Text{New: now.Message}
		case Removed:
			e.Schema, e.Name, e.Message = old.Schema, old.Name, Text{Old: old.Message}
		case Changed:
			if old.Message == now.Message {
				continue
			}
			e.Schema, e.Name, e.Message = old.Schema, old.Name, Text{Old: old.Message, New: now.Message}
		}
		d.Deprecations = append(d.Deprecations, e)
	}
	explains := len(d.Deprecations) > listed

	// Changes outside the known fields of entries: an object without entries, or an unknown member.
	for _, both := range pair(before, after, func(*catalog.Deprecations) string { return "" }) {
		o := Other{Change: both.change(), Schema: catalog.SchemaDeprecations, Package: pkg}
		if o.Change == Changed {
			o.Members = differing(both.before.Meta.Raw, both.after.Meta.Raw)
			if explains {
				o.Members = without(o.Members, "entries")
			}
			if len(o.Members) == 0 {
				continue
			}
		} else if explains {
			continue
		}
		d.Others = append(d.Others, o)
	}
}

// deprecated returns the entries of all objects.
func deprecated(objects []*catalog.Deprecations) []*catalog.Deprecation {
	var all []*catalog.Deprecation
	for _, o := range objects {
		for i := range o.Entries {
			all = append(all, &o.Entries[i])
		}
	}
	return all
}
