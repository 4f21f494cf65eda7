package diff

import (
	"cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// pkg compares a package of two catalogs. One of the two may be nil.
func (d *Diff) pkg(before, after *catalog.Package) {
	both := paired[catalog.Package]{before, after}
	old, now := orEmpty(before), orEmpty(after)
	p := Package{Change: both.change(), Name: old.Name + now.Name}
	if p.Change == Changed {
		p.Name = old.Name
		for _, m := range pair(old.Metas, now.Metas, func(*catalog.Meta) string { return "" }) {
			p.Members = append(p.Members, differing(raw(m.before), raw(m.after))...)
		}
		p.DefaultChannel, p.Members = explained(p.Members, "defaultChannel", old.DefaultChannel, now.DefaultChannel)
	} else {
		p.DefaultChannel = changed(old.DefaultChannel, now.DefaultChannel)
	}
	if p.Change != Changed || p.DefaultChannel != nil || len(p.Members) > 0 {
		d.Packages = append(d.Packages, p)
	}

	moved := d.bundles(p.Name, old, now)
	d.channels(p.Name, old, now, moved)
	d.deprecations(p.Name, old.Deprecations, now.Deprecations)
	d.others(old.Others, now.Others)
}

// orEmpty returns an empty package for nil.
func orEmpty(p *catalog.Package) *catalog.Package {
	return cmp.Or(p, &catalog.Package{})
}

// raw returns the text of an object; nil is an object without members.
func raw(m *catalog.Meta) []byte {
	if m == nil {
		return []byte("{}")
	}
	return m.Raw
}

// others compares objects of other schemas.
func (d *Diff) others(before, after []*catalog.Meta) {
	key := func(m *catalog.Meta) string { return m.Schema + "\x00" + m.Name }
	for _, both := range pair(before, after, key) {
		o := Other{Change: both.change()}
		if o.Change == Changed {
			if o.Members = differing(both.before.Raw, both.after.Raw); len(o.Members) == 0 {
				continue
			}
		}
		m := cmp.Or(both.before, both.after)
		o.Schema, o.Package, o.Name = m.Schema, m.Package, m.Name
		d.Others = append(d.Others, o)
	}
}
