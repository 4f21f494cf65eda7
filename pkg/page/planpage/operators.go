package planpage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/page"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// operators shows the packages of each catalog, and their update graphs.
func (b *builder) operators() page.Section {
	s := page.Section{ID: Operators, Title: "Operators"}
	if len(b.Graphs) > 0 {
		s.Lead = "In the update graphs, boxes with a tick are kept, and those with a cross are pruned. A heavy frame is a head, a blue one runs in a cluster."
	}
	images := b.images
	needed := map[string]string{} // who needs a package that the configuration does not name
	for _, c := range b.Plan.Catalogs {
		for _, r := range c.Required {
			if needed[packageKey(c.Name(), r.Package)] == "" {
				needed[packageKey(c.Name(), r.Package)] = "needed by " + r.For
			}
		}
	}
	for i := range b.Plan.Catalogs {
		c := &b.Plan.Catalogs[i]
		built := "the image of the source"
		if c.Built {
			built = "a filtered catalog"
		}
		table := page.Table{
			Caption: fmt.Sprintf("%s becomes %s:%s, %s with %s", c.Name(), c.Repository, c.Tag, built, env.Number(len(c.Packages), "package", "packages")),
			Columns: Columns("Package", "Default channel", "Head", "#Channels", "#Bundles", "Kept for", "#Images", "#Needs", "Asked for by"),
		}
		for j := range c.Packages {
			pkg := &c.Packages[j]
			key := packageKey(c.Name(), pkg.Name)
			size, line := b.sizes[key], b.find.InCatalog(c, pkg.Name)
			head, bundles, why := summarize(pkg)
			ask := askedBy(cmp.Or(needed[key], "the catalog"), line)
			table.Rows = append(table.Rows, page.Row{Cells: []page.Cell{
				{Text: pkg.Name, Link: packageID(i, j)}, {Text: pkg.DefaultChannel}, {Text: head}, Count(len(pkg.Channels)), Count(bundles), {Text: why}, Count(size.Images), Bytes(size.Bytes), ask,
			}})
			s.Items = append(s.Items, b.item(c, pkg, packageID(i, j), ask, images[key]))
		}
		s.Tables = append(s.Tables, table)
	}
	s.Tables = append(s.Tables, b.leftOut()...)
	return s
}

// leftOut lists the bundles that are too young, and the images that bundles do not list.
func (b *builder) leftOut() (tables []page.Table) {
	young := page.Table{Caption: "Bundles that are left out because they are too young", Columns: Columns("Package", "Bundle", "Created", "Asked for by")}
	unlisted := page.Table{Caption: "Images that bundles use and do not list in relatedImages", Columns: Columns("Bundle", "Image", "Found in", "In the plan", "Asked for by")}
	planned := map[string]bool{}
	for i := range b.Plan.Images {
		planned[b.Plan.Images[i].Source] = true
	}
	for i := range b.Plan.Catalogs {
		c := &b.Plan.Catalogs[i]
		for _, y := range c.TooYoung {
			young.Rows = append(young.Rows, page.Row{Cells: []page.Cell{{Text: y.Package}, {Text: y.Bundle}, {Text: y.Created}, askedBy("", b.find.InCatalog(c, y.Package))}})
		}
		for _, u := range c.Unlisted {
			in := page.Tag{Text: "no", Look: page.Warn}
			if planned[u.Image] {
				in = page.Tag{Text: "yes", Look: page.Good}
			}
			unlisted.Rows = append(unlisted.Rows, page.Row{Cells: []page.Cell{{Text: u.Bundle}, {Text: u.Image, Code: true}, {Text: strings.Join(u.Found, "; ")}, {Tags: []page.Tag{in}}, askedBy("", b.find.InCatalog(c, u.Package))}})
		}
	}
	return elements.Filter([]page.Table{young, unlisted}, func(t page.Table) bool { return len(t.Rows) > 0 })
}

// summarize returns the head of the default channel of a package, the number of its bundles, and why they are kept.
func summarize(pkg *plan.Package) (head string, bundles int, why string) {
	seen, reasons := map[string]bool{}, []string{}
	for _, ch := range pkg.Channels {
		if ch.Name == pkg.DefaultChannel || head == "" {
			head = ch.Head
		}
		for _, x := range ch.Bundles {
			seen[x.Name] = true
			if !slices.Contains(reasons, x.Reason) {
				reasons = append(reasons, x.Reason)
			}
		}
	}
	slices.Sort(reasons)
	return head, len(seen), strings.Join(reasons, ", ")
}

// item shows a package: its graph, its bundles with their reasons, and its images.
func (b *builder) item(c *plan.Catalog, pkg *plan.Package, id string, ask page.Cell, images []*plan.Image) page.Item {
	item := page.Item{ID: id, Title: pkg.Name, Lines: ask.Lines}
	head, bundles, _ := summarize(pkg)
	item.Note = fmt.Sprintf("%s in %s, head %s, %s", env.Number(bundles, "bundle", "bundles"), env.Number(len(pkg.Channels), "channel", "channels"), head, progress.Bytes(b.sizes[packageKey(c.Name(), pkg.Name)].Bytes))
	if drawing, ok := b.Graphs[c.Name()][pkg.Name]; ok {
		item.Drawings = append(item.Drawings, drawing)
	}
	for _, f := range c.Features {
		if f.Package == pkg.Name {
			for _, name := range f.Supported {
				item.Tags = append(item.Tags, page.Tag{Text: name, Look: page.Plain})
			}
		}
	}
	table := page.Table{Caption: "Bundles of " + pkg.Name, Columns: Columns("Channel", "Bundle", "Version", "Kept because of", "For")}
	for _, ch := range pkg.Channels {
		for _, x := range ch.Bundles {
			name := page.Cell{Text: x.Name}
			if x.Name == ch.Head {
				name.Tags = append(name.Tags, page.Tag{Text: "head", Look: page.Plain})
			}
			table.Rows = append(table.Rows, page.Row{Cells: []page.Cell{{Text: ch.Name}, name, {Text: x.Version}, {Text: x.Reason}, {Text: x.For}}})
		}
	}
	item.Tables = append(item.Tables, table)
	if len(images) > 0 {
		item.Tables = append(item.Tables, b.imageTable("Images of "+pkg.Name, images, func(r plan.Reason) string {
			if r.Package != pkg.Name || r.Catalog != c.Name() {
				return ""
			}
			return r.Bundle
		}))
	}
	return item
}

// dependencies shows the bundles that others need.
func (b *builder) dependencies() page.Section {
	t := page.Table{Caption: "Bundles that were added because others need them", Columns: Columns("Package", "Channel", "Bundle", "Needed by", "Asked for by")}
	for i := range b.Plan.Catalogs {
		c := &b.Plan.Catalogs[i]
		for _, r := range c.Required {
			id := ""
			if at := slices.IndexFunc(c.Packages, func(p plan.Package) bool { return p.Name == r.Package }); at >= 0 {
				id = packageID(i, at)
			}
			t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: r.Package, Link: id}, {Text: r.Channel}, {Text: r.Bundle}, {Text: r.For}, askedBy("--dependencies", b.find.Catalog(c))}})
		}
	}
	if len(t.Rows) == 0 {
		return page.Section{}
	}
	return page.Section{ID: Required, Title: "Dependencies", Tables: []page.Table{t}}
}
