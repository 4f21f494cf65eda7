package catalog

import (
	"cmp"
	"slices"
)

// New builds a catalog from its objects. Objects of one name keep their order,
// which stands for their place in the files. The metas' identities must be those
// of their text, as those of metas from a [Reader] or [Meta.With] are. The error
// is an [*Error] with every object whose members are not of the types that its
// schema demands.
func New(metas []*Meta) (*Catalog, error) {
	var (
		c        Catalog
		problems Error
		packages = map[string]*Package{}
		decode   decoder
	)
	for _, m := range metas {
		if m.Package == "" && !olm(m.Schema) {
			c.Others = append(c.Others, m)
			continue
		}
		p := packages[m.Package]
		if p == nil {
			p = &Package{Name: m.Package}
			packages[m.Package] = p
			c.Packages = append(c.Packages, p)
		}
		if err := decode.add(p, m); err != nil {
			problems.add(m, "%s: %v", describe(m), err)
		}
	}
	if len(problems.Problems) > 0 {
		return nil, &problems
	}

	slices.SortFunc(c.Packages, func(a, b *Package) int { return cmp.Compare(a.Name, b.Name) })
	for _, p := range c.Packages {
		slices.SortStableFunc(p.Channels, func(a, b *Channel) int { return cmp.Compare(a.Name, b.Name) })
		slices.SortStableFunc(p.Bundles, func(a, b *Bundle) int { return cmp.Compare(a.Name, b.Name) })
		slices.SortStableFunc(p.Others, func(a, b *Meta) int {
			return cmp.Or(cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Name, b.Name))
		})
		if len(p.Metas) > 0 {
			c.Names = append(c.Names, p.Name)
		}
	}
	return &c, nil
}

// olm reports whether the schema is one that OLM gives a meaning.
func olm(schema string) bool {
	switch schema {
	case SchemaPackage, SchemaChannel, SchemaBundle, SchemaDeprecations:
		return true
	}
	return false
}

// describe names an object for a person.
func describe(m *Meta) string {
	switch {
	case m.Name != "" && m.Package != "" && m.Package != m.Name:
		return m.Schema + " " + m.Name + " of package " + m.Package
	case m.Name != "":
		return m.Schema + " " + m.Name
	case m.Package != "":
		return m.Schema + " of package " + m.Package
	}
	return m.Schema
}
