package snapshot

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A Graph is the part of a catalog that updates depend on: the channels, versions and deprecations, without
// the texts of bundles.
type Graph struct {
	Catalog *catalog.Catalog
	// Created is when the image of the catalog was created; zero if unknown.
	Created time.Time
}

// maxGraph is the maximum size of the objects of a graph, in bytes. Those of public catalogs have 10 MB.
const maxGraph = 256 << 20

// errGraphSize is the error of a graph that is too large.
var errGraphSize = errors.New("the graph is too large")

// Write writes the graph as objects of a catalog that [ReadGraph] reads, compressed with gzip. The header of
// gzip has the time. A package of Catalog must have been read, not outlined.
func (g Graph) Write(w io.Writer) error {
	z := gzip.NewWriter(w)
	z.ModTime = g.Created
	out := bufio.NewWriter(z)
	for _, p := range g.Catalog.Packages {
		bare := *p
		bare.Bundles = nil
		for _, b := range p.Bundles {
			only := *b
			only.Properties = slices.DeleteFunc(slices.Clone(b.Properties), func(p catalog.Property) bool { return !IsGraph(p.Type) })
			bare.Bundles = append(bare.Bundles, &only)
		}
		objects := outlined([]*catalog.Package{&bare})
		for _, d := range p.Deprecations {
			objects = append(objects, &catalog.Meta{Raw: deprecations(d)})
		}
		for _, m := range objects {
			if _, err := out.Write(append(m.Raw, '\n')); err != nil {
				return fmt.Errorf("writing the graph of a catalog: %w", err)
			}
		}
	}
	if err := errors.Join(out.Flush(), z.Close()); err != nil {
		return fmt.Errorf("writing the graph of a catalog: %w", err)
	}
	return nil
}

// IsGraph reports whether updates depend on properties of a type: the version, and what keeps OLM classic
// from installing a bundle.
func IsGraph(property string) bool {
	return property == "olm.package" || property == "olm.deprecated"
}

// deprecations returns an olm.deprecations object, without its messages.
func deprecations(d *catalog.Deprecations) []byte {
	o := object{'{'}.text("schema", catalog.SchemaDeprecations).text("package", d.Package)
	o = o.list("entries", len(d.Entries), func(o object, i int) object {
		e := d.Entries[i]
		reference := object{'{'}.text("schema", e.Schema).text("name", e.Name)
		o = append(append(append(o, '{').member("reference"), reference...), '}')
		return append(o.text("message", e.Message), '}')
	})
	return append(o, '}')
}

// ReadGraph reads what Graph.Write wrote.
func ReadGraph(r io.Reader) (Graph, error) {
	g, err := readGraph(r)
	if err != nil {
		return Graph{}, fmt.Errorf("reading the graph of a catalog: %w", err)
	}
	return g, nil
}

func readGraph(r io.Reader) (Graph, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return Graph{}, err
	}
	reader := catalog.NewReader(catalog.Options{DropText: func(*catalog.Bundle) {}})
	text := &io.LimitedReader{R: z, N: maxGraph + 1}
	if err := reader.File("graph", text); err != nil {
		return Graph{}, err
	}
	if text.N == 0 {
		return Graph{}, errGraphSize
	}
	c, err := reader.Catalog()
	g := Graph{Catalog: c}
	if !z.ModTime.IsZero() {
		g.Created = z.ModTime.UTC()
	}
	return g, err
}
