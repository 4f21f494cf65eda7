package planpage

import (
	"cmp"
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/page"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// listedParts is how many parts the table of sizes has.
const listedParts = 50

// sizeSection shows which parts need how much.
func (b *builder) sizeSection() page.Section {
	s := page.Section{ID: Sizes, Title: "Sizes", Lead: "A part needs all of its content. What only it needs would be saved without it; the rest is shared with other parts."}
	if len(b.sizes) == 0 {
		return page.Section{}
	}
	known, rest := map[string]part{}, b.Plan.Totals.Bytes
	for i := range b.Plan.Images {
		for _, r := range b.Plan.Images[i].Reasons {
			p := partOf(r)
			known[p.key] = p
		}
	}
	ids := map[string]string{}
	for i := range b.Plan.Catalogs {
		for j, pkg := range b.Plan.Catalogs[i].Packages {
			ids[packageKey(b.Plan.Catalogs[i].Name(), pkg.Name)] = packageID(i, j)
		}
	}
	for i := range b.Plan.Releases {
		ids["release "+b.Plan.Releases[i].Name()] = releaseID(i)
	}
	table := page.Table{Caption: "Sizes by part", Columns: Columns("Part", "Kind", "#Images", "#Needs", "#Only it needs", "Asked for by")}
	tiles := &page.Treemap{Caption: "Content by part, as areas", Groups: groups()}
	parts := make([]part, 0, len(known))
	for _, p := range known {
		parts = append(parts, p)
	}
	elements.Sort(parts, func(x, y part) int {
		return cmp.Or(cmp.Compare(b.sizes[y.key].Bytes, b.sizes[x.key].Bytes), cmp.Compare(x.key, y.key))
	})
	if len(parts) > listedParts {
		table.Caption = fmt.Sprintf("The %d largest of %d parts; the tables below have the others", listedParts, len(parts))
	}
	lines := b.partLines()
	for i, p := range parts {
		size := b.sizes[p.key]
		rest -= size.Own
		tiles.Tiles = append(tiles.Tiles, page.Tile{Name: p.name, Value: size.Own, Text: progress.Bytes(size.Own), Group: p.group, Link: ids[p.key]})
		if i >= listedParts {
			continue
		}
		table.Rows = append(table.Rows, page.Row{Cells: []page.Cell{{Text: p.name, Link: ids[p.key]}, {Text: p.kind}, Count(size.Images), Bytes(size.Bytes), Bytes(size.Own), askedBy("", lines[p.key]...)}})
	}
	if rest > 0 {
		table.Rows = append(table.Rows, page.Row{Cells: []page.Cell{{Text: "Shared"}, {Text: "needed by several parts"}, {}, Bytes(rest), {}}})
		tiles.Tiles = append(tiles.Tiles, page.Tile{Name: "Shared", Value: rest, Text: progress.Bytes(rest), Group: shared})
	}
	s.Map, s.Tables = tiles, []page.Table{table}
	return s
}
