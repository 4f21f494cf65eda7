package catalog

import (
	"cmp"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// New builds a catalog from its objects. Objects with the same name keep their order, which is
// their order in the files. The identity of each meta must match its text, as for metas from a
// [Reader] or [Meta.With]. The error is an [*Error] with every object whose members do not have the
// types of its schema.
func New(metas []*Meta) (*Catalog, error) {
	contents, err := decodeAll(metas)
	if err != nil {
		return nil, err
	}
	return build(contents), nil
}

// build builds a catalog from decoded objects.
func build(contents []decoded) *Catalog {
	var c Catalog
	c.Packages = group(contents)
	for _, content := range contents {
		if m := content.meta; m.Package == "" && !isOLM(m.Schema) {
			c.Others = append(c.Others, m)
		}
	}
	for _, p := range c.Packages {
		if len(p.Metas) > 0 {
			c.Names = append(c.Names, p.Name)
		}
	}
	return &c
}

// group collects the objects of each package.
func group(contents []decoded) []*Package {
	var sorted []*Package
	packages := map[string]*Package{}
	for _, content := range contents {
		m := content.meta
		if m.Package == "" && !isOLM(m.Schema) {
			continue
		}
		p := packages[m.Package]
		if p == nil {
			p = &Package{Name: m.Package}
			packages[m.Package] = p
			sorted = append(sorted, p)
		}
		p.add(content)
	}
	elements.Sort(sorted, func(a, b *Package) int { return cmp.Compare(a.Name, b.Name) })
	for _, p := range sorted {
		p.sort()
	}
	return sorted
}

// decodeAll decodes objects on all processors.
func decodeAll(metas []*Meta) ([]decoded, error) {
	contents := make([]decoded, len(metas))
	errs := make([]error, len(metas))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(metas)) {
		workers.Go(func() {
			var d decoder
			for i := next.Add(1) - 1; i < int64(len(metas)); i = next.Add(1) - 1 {
				contents[i], errs[i] = d.decode(metas[i])
			}
		})
	}
	workers.Wait()

	var found Error
	for i, err := range errs {
		if err != nil {
			found.add(metas[i], "%s: %v", describe(metas[i]), err)
		}
	}
	if len(found.Problems) > 0 {
		return nil, &found
	}
	return contents, nil
}

// add adds an object to the package.
func (p *Package) add(content decoded) {
	switch m := content.meta; {
	case m.Schema == SchemaPackage:
		if len(p.Metas) == 0 {
			p.DefaultChannel = content.defaultChannel
		}
		p.Metas = append(p.Metas, m)
	case content.channel != nil:
		p.Channels = append(p.Channels, content.channel)
	case content.bundle != nil:
		p.Bundles = append(p.Bundles, content.bundle)
	case content.deprecations != nil:
		p.Deprecations = append(p.Deprecations, content.deprecations)
	default:
		p.Others = append(p.Others, m)
	}
}

// sort sorts the package's objects; those with the same name keep their order.
func (p *Package) sort() {
	elements.Sort(p.Channels, func(a, b *Channel) int { return cmp.Compare(a.Name, b.Name) })
	elements.Sort(p.Bundles, func(a, b *Bundle) int { return cmp.Compare(a.Name, b.Name) })
	elements.Sort(p.Others, func(a, b *Meta) int {
		return cmp.Or(cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Name, b.Name))
	})
}

// isOLM reports whether OLM knows the schema.
func isOLM(schema string) bool {
	switch schema {
	case SchemaPackage, SchemaChannel, SchemaBundle, SchemaDeprecations:
		return true
	}
	return false
}

// describe names an object in a message.
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
