package planpage

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/page"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// others shows images, charts and files.
func (b *builder) others() page.Section {
	s := page.Section{ID: Additional, Title: "Images"}
	add := func(t page.Table) {
		if len(t.Rows) > 0 {
			s.Tables = append(s.Tables, t)
		}
	}
	images := page.Table{Caption: "Additional images", Columns: Columns("Image", "Becomes", "Digest", "#Size", "Asked for by")}
	for _, img := range b.additional() {
		line := b.find.Image(img.Source)
		images.Rows = append(images.Rows, page.Row{Cells: []page.Cell{{Text: sourceName(img), Code: true}, {Text: strings.Join(img.Names(), ", "), Code: true}, {Text: short(img.Digest), Code: true}, Bytes(img.Size), askedBy("additionalImages", line)}})
	}
	add(images)
	rules := page.Table{Caption: "Rules for tags", Columns: Columns("Repository", "Rule", "Created", "#Tags", "Asked for by")}
	for _, r := range b.Plan.TagRules {
		created := ""
		if r.CreatedBefore != "" {
			created = "before " + r.CreatedBefore
		}
		if r.CreatedAfter != "" {
			created = strings.TrimSpace(created + " on " + r.CreatedAfter + " or later")
		}
		rules.Rows = append(rules.Rows, page.Row{Cells: []page.Cell{{Text: r.Repository, Code: true}, {Text: r.Rule}, {Text: created}, Count(r.Selected), askedBy("additionalImages", b.find.Image(r.Repository))}})
	}
	add(rules)
	charts := page.Table{Caption: "Helm charts", Columns: Columns("Chart", "Version", "Origin", "#Images", "#Needs", "Asked for by")}
	for i := range b.Plan.Charts {
		c := &b.Plan.Charts[i]
		size := b.sizes["chart "+c.String()]
		charts.Rows = append(charts.Rows, page.Row{Cells: []page.Cell{{Text: c.Name}, {Text: c.Version}, {Text: c.Origin, Code: true}, Count(size.Images), Bytes(size.Bytes), askedBy("helm", b.find.Chart(c))}})
	}
	add(charts)
	files := page.Table{Caption: "Files", Columns: Columns("File", "Origin", "#Size", "Asked for by")}
	for i := range b.Plan.Files {
		f := &b.Plan.Files[i]
		files.Rows = append(files.Rows, page.Row{Cells: []page.Cell{{Text: f.Name, Code: true}, {Text: f.Origin, Code: true}, Bytes(f.Size), askedBy("files", b.find.File(f.Name))}})
	}
	add(files)
	return s
}

// signatures shows who signed images, and which are mirrored without a signature.
func (b *builder) signatures() page.Section {
	unsigned, all := b.Plan.UnsignedImages()
	if all == 0 {
		return page.Section{}
	}
	s := page.Section{ID: Signatures, Title: "Signatures"}
	s.Lead = fmt.Sprintf("%s of %s that can have a signature have one. Only a signature policy says whether signatures are valid.", env.Number(all-len(unsigned), "image", "images"), env.Number(all, "image", "images"))
	count := map[plan.Signer]int{}
	for i := range b.Plan.Images {
		for _, x := range b.Plan.Images[i].Signers {
			count[x]++
		}
	}
	signers := make([]plan.Signer, 0, len(count))
	for x := range count {
		signers = append(signers, x)
	}
	elements.Sort(signers, plan.CompareSigners)
	if len(signers) > 0 {
		t := page.Table{Caption: "Signers, by the signature policy", Columns: Columns("Signer", "Type", "#Images", "Asked for by")}
		lines := b.SignerLines()
		for _, x := range signers {
			t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: x.Name}, {Text: x.Type}, Count(count[x]), lines[x]}})
		}
		s.Tables = append(s.Tables, t)
	}
	const listed = 200
	t := page.Table{Caption: "Images without a signature", Columns: Columns("Image", "Kind", "Required by", "Asked for by")}
	if len(unsigned) > listed {
		t.Caption += fmt.Sprintf(": the first %d of %d", listed, len(unsigned))
	}
	for _, img := range unsigned[:min(len(unsigned), listed)] {
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: sourceName(img), Code: true}, {Text: string(img.Kind)}, {Text: requiredBy(img.Reasons)}, askedBy("", b.line(img.Source, img.Reasons))}})
	}
	if len(t.Rows) > 0 {
		s.Tables = append(s.Tables, t)
	}
	return s
}

// changes shows what differs from the plan before.
func (b *builder) changes() page.Section {
	if !b.Compared {
		return page.Section{}
	}
	s := page.Section{ID: Changes, Title: "Changes", Lead: "Compared with the plan before."}
	if b.Before == nil {
		s.Messages = []page.Message{{Level: page.Note, Text: "This is the first plan of " + b.Plan.Name + " here."}}
		return s
	}
	d := plan.Compare(b.Before, b.Plan.Outline())
	if d.Empty() {
		s.Messages = []page.Message{{Level: page.Note, Text: "Nothing changed."}}
		return s
	}
	s.Lead = fmt.Sprintf("Compared with the plan before: %s new, %s no longer needed.", Bytes(d.NewBytes).Text, Bytes(d.RemovedBytes).Text)
	s.Tables = Difference(d)
	return s
}

// maxChanges is how many changed images a page lists.
const maxChanges = 2000

// Difference returns the tables of a difference: catalogs, and images, releases, charts and files.
func Difference(d *plan.Difference) (tables []page.Table) {
	looks := map[plan.Change]page.Look{plan.ChangeAdded: page.Good, plan.ChangeMoved: page.Plain, plan.ChangeRemoved: page.Bad}
	tag := func(c plan.Change) page.Cell {
		return page.Cell{Tags: []page.Tag{{Text: cmp.Or(map[plan.Change]string{plan.ChangeMoved: "changed"}[c], string(c)), Look: looks[c]}}}
	}
	t := page.Table{Caption: "Packages", Columns: Columns("Package", "Change", "Channel", "Head", "Bundles")}
	for _, c := range d.Catalogs {
		for _, p := range c.Packages {
			for _, ch := range p.Channels {
				head := ch.NewHead
				if ch.OldHead != "" && ch.OldHead != ch.NewHead {
					head = strings.TrimSuffix(ch.OldHead+" to "+ch.NewHead, " to ")
				}
				var bundles []string
				for _, x := range []struct {
					word  string
					names []string
				}{{"added", ch.Added}, {"changed", ch.Moved}, {"removed", ch.Removed}} {
					if len(x.names) > 0 {
						bundles = append(bundles, x.word+": "+strings.Join(x.names, ", "))
					}
				}
				t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: p.Name, Note: c.Name}, tag(ch.Change), {Text: ch.Name}, {Text: head}, {Text: strings.Join(bundles, "; ")}}})
			}
		}
	}
	if len(t.Rows) > 0 {
		tables = append(tables, t)
	}
	images := page.Table{Caption: "Images, releases, charts and files", Columns: Columns("Name", "Change", "Kind", "#Size")}
	add := func(all []plan.ChangedImage, c plan.Change) {
		for _, x := range all {
			if len(images.Rows) < maxChanges {
				images.Rows = append(images.Rows, page.Row{Cells: []page.Cell{{Text: x.Name, Code: true}, tag(c), {Text: string(x.Kind)}, Bytes(x.Size)}})
			}
		}
	}
	for _, x := range []*plan.Changes{{Added: d.Added, Removed: d.Removed, Changed: d.Changed}, d.Charts, d.Files, {Changed: d.ChangedReleases}} {
		if x != nil {
			add(x.Added, plan.ChangeAdded)
			add(x.Changed, plan.ChangeMoved)
			add(x.Removed, plan.ChangeRemoved)
		}
	}
	if n := len(d.Added) + len(d.Removed) + len(d.Changed); n > maxChanges {
		images.Caption += fmt.Sprintf(": the first %d of %d", maxChanges, n)
	}
	if len(images.Rows) > 0 {
		tables = append(tables, images)
	}
	return tables
}
