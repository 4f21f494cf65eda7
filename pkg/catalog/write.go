package catalog

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A File is one file of a catalog as Gantry writes it: objects, each followed by a newline. It uses
// the text of the metas when it is written, so a list of files needs little memory.
type File struct {
	Path  string // slash-separated, below the catalog's root
	Metas []*Meta
}

// Size returns how many bytes WriteTo writes.
func (f File) Size() int64 {
	var size int64
	for _, m := range f.Metas {
		size += int64(m.Len()) + 1
	}
	return size
}

// WriteTo writes the file's text.
func (f File) WriteTo(w io.Writer) (int64, error) {
	var written int64
	for _, m := range f.Metas {
		text, err := m.Text()
		var n int
		if err == nil {
			n, err = w.Write(text)
			written += int64(n)
		}
		if err == nil {
			n, err = io.WriteString(w, "\n")
			written += int64(n)
		}
		if err != nil {
			return written, fmt.Errorf("writing %s: %w", f.Path, err)
		}
	}
	return written, nil
}

// Files lays a catalog out as operator-registry's declcfg.WriteFS does: a file PACKAGE/catalog.json
// for each package and, for objects without a package, catalog.json beside them. The objects of a
// package are ordered: package, channels, bundles, objects of other schemas, deprecations. The text
// of the objects is unchanged, and the same catalog gives the same files.
//
// A package whose name is not a DNS label is an error, since its name becomes a path.
func Files(c *Catalog) ([]File, error) {
	var files []File
	if len(c.Others) > 0 {
		others := slices.Clone(c.Others)
		elements.Sort(others, func(a, b *Meta) int {
			return cmp.Or(cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Name, b.Name))
		})
		files = append(files, File{Path: "catalog.json", Metas: others})
	}
	for _, p := range c.Packages {
		if err := checkLabel(p.Name); err != nil {
			return nil, fmt.Errorf("laying out package %q: %w", p.Name, err)
		}
		files = append(files, File{Path: p.Name + "/catalog.json", Metas: p.Objects()})
	}
	return files, nil
}

// Objects returns all objects of the package, in the order in which they are written.
func (p *Package) Objects() []*Meta {
	metas := slices.Clone(p.Metas)
	for _, c := range p.Channels {
		metas = append(metas, c.Meta)
	}
	for _, b := range p.Bundles {
		metas = append(metas, b.Meta)
	}
	metas = append(metas, p.Others...)
	for _, d := range p.Deprecations {
		metas = append(metas, d.Meta)
	}
	return metas
}

// checkLabel returns an error unless the name is a DNS label (RFC 1123, lower case).
func checkLabel(name string) error {
	if name == "" || len(name) > 63 {
		return fmt.Errorf("a package name must have 1 to 63 characters, not %d", len(name))
	}
	for i, c := range []byte(name) {
		inner := i > 0 && i < len(name)-1
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-' && inner:
		default:
			return fmt.Errorf("a package name may contain only lower case letters, digits and, inside, dashes, not %q", c)
		}
	}
	return nil
}
