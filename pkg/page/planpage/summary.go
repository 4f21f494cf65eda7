package planpage

import (
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/page"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// Summary returns tables with the packages, releases, charts and files of a plan, for pages about several plans.
func Summary(p *plan.Plan) (tables []page.Table) {
	sizes := p.PartSizes(func(_ *plan.Image, r plan.Reason) string { return partOf(r).key })
	packages := page.Table{Caption: "Packages", Columns: Columns("Package", "Catalog", "Head", "#Bundles", "Kept for", "#Images", "#Needs")}
	for i := range p.Catalogs {
		c := &p.Catalogs[i]
		for j := range c.Packages {
			pkg := &c.Packages[j]
			size := sizes[packageKey(c.Name(), pkg.Name)]
			head, bundles, why := summarize(pkg)
			packages.Rows = append(packages.Rows, page.Row{Cells: []page.Cell{{Text: pkg.Name}, {Text: c.Name()}, {Text: head}, Count(bundles), {Text: why}, Count(size.Images), Bytes(size.Bytes)}})
		}
	}
	others := page.Table{Caption: "Releases, charts, files and images", Columns: Columns("Name", "Kind", "#Images", "#Needs")}
	for _, r := range p.Releases {
		size := sizes["release "+r.Name()]
		others.Rows = append(others.Rows, page.Row{Cells: []page.Cell{{Text: r.Name()}, {Text: "release"}, Count(size.Images), Bytes(size.Bytes)}})
	}
	for _, c := range p.Charts {
		size := sizes["chart "+c.String()]
		others.Rows = append(others.Rows, page.Row{Cells: []page.Cell{{Text: c.String()}, {Text: "chart"}, Count(size.Images), Bytes(size.Bytes)}})
	}
	for _, f := range p.Files {
		others.Rows = append(others.Rows, page.Row{Cells: []page.Cell{{Text: f.Name}, {Text: "file"}, {}, Bytes(f.Size)}})
	}
	for _, img := range (&builder{Options: Options{Plan: p}}).additional() {
		others.Rows = append(others.Rows, page.Row{Cells: []page.Cell{{Text: sourceName(img), Note: strings.Join(img.Names(), ", ")}, {Text: "image"}, Count(1), Bytes(img.Size)}})
	}
	return elements.Filter([]page.Table{packages, others}, func(t page.Table) bool { return len(t.Rows) > 0 })
}
