package planning

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog/filter"
	"github.com/gantry-mirror/gantry/pkg/catalog/picture"
	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/page"
	"github.com/gantry-mirror/gantry/pkg/page/planpage"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/plan/listing"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// newPage returns the plan as a page. before is the last plan of the image set; nil if there is none. The catalogs are
// read again for their update graphs, usually from the cache.
func (r *Result) newPage(ctx context.Context, s *workspace.Session, selected *selection.Selected, config string, before *plan.Outline) *page.Document {
	o := planpage.Options{Plan: r.Plan, Compared: true, Before: before, Config: selected.Config}
	if selected.Text != nil {
		o.Source = planpage.Text(config, selected.Text)
	} else {
		o.Config = nil // lines of a configuration that a program made mean nothing to people
	}
	for _, w := range r.Warnings {
		o.Warnings = append(o.Warnings, page.Message{Level: page.Warning, Text: w.Message, More: w.Hint, Line: w.Line})
	}
	o.Warnings = append(o.Warnings, r.replacedMessages()...)
	graphs, err := UpdateGraphs(ctx, s, r.Plan)
	if err != nil {
		o.Warnings = append(o.Warnings, page.Message{Level: page.Note, Text: "The update graphs cannot be drawn", More: err.Error()})
	}
	o.Graphs = graphs
	d := planpage.New(o)
	d.Facts = append(d.Facts, r.copyFacts()...)
	d.Sections = slices.Insert(d.Sections, len(d.Sections), r.policySection(o.SignerLines()), r.destinationSection())
	return d
}

// UpdateGraphs draws the graphs of all packages of a plan, by catalog and package: what is kept of each mirrored channel,
// what is pruned, and what clusters run.
func UpdateGraphs(ctx context.Context, s *workspace.Session, p *plan.Plan) (map[string]map[string]diagram.Drawing, error) {
	all := map[string]map[string]diagram.Drawing{}
	read, err := build.Reselect(ctx, p, s.Sources.Plan(), build.Options{Log: s.Env.Logger()})
	if err != nil {
		return nil, err
	}
	for i, c := range p.Catalogs {
		of := map[string]diagram.Drawing{}
		all[c.Name()] = of
		op, err := imageset.ParseOperator(c.Selection)
		if err != nil {
			return nil, err
		}
		running := listing.ConfiguredOperators(&imageset.Config{Mirror: imageset.Mirror{Operators: []imageset.Operator{op}}})
		for _, pkg := range c.Packages {
			original, result := read.Catalogs[i].Original.Package(pkg.Name), read.Catalogs[i].Result
			if original == nil {
				continue
			}
			o := picture.Options{Kept: result.Catalog.Package(pkg.Name), Installed: listing.InstalledEntries(running, original), FoldPruned: true}
			if at := slices.IndexFunc(result.Packages, func(f filter.Package) bool { return f.Name == pkg.Name }); at >= 0 {
				o.Account = &result.Packages[at]
			}
			for _, ch := range pkg.Channels {
				if ch.Name == pkg.DefaultChannel {
					o.Channels = slices.Insert(o.Channels, 0, ch.Name)
				} else if original.Channel(ch.Name) != nil {
					o.Channels = append(o.Channels, ch.Name)
				}
			}
			if of[pkg.Name], err = picture.Draw(original, o); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// replacedMessages are about catalogs that clusters lose something of.
func (r *Result) replacedMessages() (all []page.Message) {
	for i := range r.Replaced {
		x := &r.Replaced[i]
		for _, lost := range x.Stranded {
			var fixes []string
			for _, f := range lost.Fixes {
				fixes = append(fixes, fmt.Sprint(f))
			}
			all = append(all, page.Message{Level: page.Error, Text: fmt.Sprintf("%s at %s: %s", x.Catalog, x.At, lost), More: strings.Join(fixes, "; ")})
		}
		if x.OlderSource != nil {
			all = append(all, page.Message{Level: page.Warning, Text: fmt.Sprintf("%s at %s: %s", x.Catalog, x.At, x.OlderSource)})
		}
		for _, older := range x.Older {
			all = append(all, page.Message{Level: page.Warning, Text: fmt.Sprintf("%s at %s: %s", x.Catalog, x.At, older)})
		}
		if x.Problem != "" {
			all = append(all, page.Message{Level: page.Warning, Text: fmt.Sprintf("%s at %s is not compared: %s", x.Catalog, x.At, x.Problem)})
		}
	}
	return all
}

// copyFacts say how much has to be copied to the destination.
func (r *Result) copyFacts() (facts []page.Fact) {
	if r.ToCopy == nil {
		return nil
	}
	facts = []page.Fact{
		{Name: "To copy", Value: progress.Bytes(r.ToCopy.Bytes), Note: env.Number(r.ToCopy.Images, "image", "images")},
		{Name: "Present", Value: progress.Bytes(r.ToCopy.BytesPresent), Note: env.Number(r.ToCopy.Present, "image", "images")},
	}
	if d := r.Deltas; d != nil && d.Blobs > 0 {
		facts = append(facts, page.Fact{Name: "For deltas", Value: progress.Bytes(d.Bytes), Note: env.Number(d.Blobs, "blob", "blobs") + " that the site has others of"})
	}
	return facts
}

// policySection shows what a signature policy and a gate decided. lines say who asked for the images of signers.
func (r *Result) policySection(lines map[plan.Signer]page.Cell) page.Section {
	s := page.Section{ID: "policy", Title: "Policies"}
	if v := r.Verified; v != nil {
		t := page.Table{Caption: "Signature policy " + v.Policy, Columns: planpage.Columns("Signer", "#Images", "Asked for by")}
		for _, x := range v.Signed {
			t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: x.Name, Note: x.Type}, planpage.Count(x.Images), lines[x.Signer]}})
		}
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: "accepted without verification"}, planpage.Count(v.Unsigned)}}, page.Row{Cells: []page.Cell{{Text: "refused"}, planpage.Count(v.Refused)}})
		s.Tables = append(s.Tables, t)
	}
	if g := r.Gate; g != nil {
		t := page.Table{Caption: fmt.Sprintf("Gate %s: %d accepted, %d refused, %d undecided", g.Program, g.Accepted, g.Refused, g.Failed), Columns: planpage.Columns("Image", "Answer", "Reason")}
		for _, a := range g.Answers {
			answer := page.Tag{Text: "refused", Look: page.Bad}
			if a.Accepted {
				answer = page.Tag{Text: "accepted", Look: page.Good}
			}
			t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: a.Reference, Code: true}, {Tags: []page.Tag{answer}}, {Text: a.Reason}}})
		}
		s.Tables = append(s.Tables, t)
	}
	return s
}

// destinationSection shows what a run would change at the destination.
func (r *Result) destinationSection() page.Section {
	s := page.Section{ID: "destination", Title: "Destination"}
	if r.ToCopy == nil {
		return s
	}
	s.Lead = r.Destination
	t := page.Table{Caption: "Images", Columns: planpage.Columns("Images", "#Number", "#Size"), Rows: []page.Row{
		{Cells: []page.Cell{{Text: "to copy"}, planpage.Count(r.ToCopy.Images), planpage.Bytes(r.ToCopy.Bytes)}},
		{Cells: []page.Cell{{Text: "present"}, planpage.Count(r.ToCopy.Present), planpage.Bytes(r.ToCopy.BytesPresent)}},
	}}
	s.Tables = append(s.Tables, t)
	if d := r.Deltas; d != nil {
		m := page.Message{Level: page.Note, Text: fmt.Sprintf("%s with %s can be carried as deltas.", env.Number(d.Blobs, "blob", "blobs"), progress.Bytes(d.Bytes)), More: "What they save is known when the archive is written."}
		if d.Refused != "" {
			m.Text, m.More = "No deltas are made: "+d.Refused, ""
		}
		s.Messages = append(s.Messages, m)
	}
	if f := r.Resources; f != nil {
		t := page.Table{Caption: "Files that clusters apply, in " + f.Dir, Columns: planpage.Columns("File")}
		for _, name := range f.Files {
			t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: name, Code: true}}})
		}
		s.Tables = append(s.Tables, t)
		for _, note := range f.Notes {
			s.Messages = append(s.Messages, page.Message{Level: page.Note, Text: note})
		}
	}
	return s
}
