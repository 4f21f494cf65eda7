package mirroring

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/page"
	"github.com/gantry-mirror/gantry/pkg/page/planpage"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// Page describes a finished run, which may have failed, as a page: what was copied, what failed, the archive that was written,
// and what the plan has. from is the selection of the run. It is nil for a run that ended before it had a plan.
func (r *Result) Page(from *selection.Selection, failure error) *page.Document {
	if r == nil || r.Plan == nil {
		return nil
	}
	o := planpage.Options{Plan: r.Plan, Before: r.before, Compared: r.before != nil, Graphs: r.graphs}
	if r.before != nil {
		o.Earlier = []planpage.Earlier{{Name: "the run before", Plan: r.before}}
	}
	if from.Config != "" {
		if read, err := from.Load(); err == nil && read.Text != nil {
			o.Config, o.Source = read.Config, planpage.Text(from.Config, read.Text)
		}
	} else {
		o.Config, o.Source = planpage.Selected(r.Plan)
	}
	if failure != nil {
		o.Warnings = append(o.Warnings, page.Message{Level: page.Error, Text: env.ErrorText(failure)})
	}
	for _, w := range r.Warnings {
		o.Warnings = append(o.Warnings, page.Message{Level: page.Warning, Text: w.Message, More: w.Hint, Line: w.Line})
	}
	d := planpage.New(o)
	d.Kind, d.Lead = "Run", strings.TrimSpace(r.Destination+". "+d.Lead)
	d.Facts = slices.Insert(d.Facts, 0, r.facts()...)
	d.Sections = slices.Insert(d.Sections, 1, r.copied(), r.written())
	return d
}

// drawGraphs adds the update graphs, with the versions that are pruned, to the result of a run that read the original
// catalogs. Without them, the page has none.
func (r *openedRun) drawGraphs(ctx context.Context, done *Result) {
	if !r.o.Page || done == nil || r.have != nil || ctx.Err() != nil {
		return
	}
	graphs, err := planning.UpdateGraphs(ctx, r.session, done.Plan)
	if err != nil {
		r.session.Env.Logger().Info("the page has no update graphs", "error", err)
	}
	done.graphs = graphs
}

func (r *Result) facts() (facts []page.Fact) {
	if rep := r.Report; rep != nil {
		facts = append(facts, page.Fact{Name: "Copied", Value: progress.Bytes(rep.BytesCopied), Note: env.Number(rep.Copied, "image", "images")},
			page.Fact{Name: "Already present", Value: diagram.Count(rep.Present), Note: "images"})
		if n := len(rep.Failed); n > 0 {
			facts = append(facts, page.Fact{Name: "Failed", Value: diagram.Count(n), Note: "images"})
		}
	}
	if t := r.Transfer; t != nil && t.Seconds > 0 {
		facts = append(facts, page.Fact{Name: "Time", Value: progress.Duration(time.Duration(t.Seconds * float64(time.Second))), Note: progress.Bytes(t.BytesPerSecond) + "/s"})
	}
	if a := r.Archive; a != nil && a.Deltas != nil && a.Deltas.Blobs > 0 {
		facts = append(facts, page.Fact{Name: "Saved by deltas", Value: progress.Bytes(a.Deltas.BlobBytes - a.Deltas.Bytes), Note: fmt.Sprintf("%s carry %s", progress.Bytes(a.Deltas.Bytes), progress.Bytes(a.Deltas.BlobBytes))})
	}
	return facts
}

// copied shows which images were copied, and which were not.
func (r *Result) copied() page.Section {
	s := page.Section{ID: "copied", Title: "Copied"}
	if r.Report == nil {
		return s
	}
	failed := page.Table{Caption: "Images that failed", Columns: planpage.Columns("Image", "Reason")}
	for _, f := range r.Report.Failed {
		failed.Rows = append(failed.Rows, page.Row{Cells: []page.Cell{{Text: plan.SourceText(f.Source), Note: f.Repository, Code: true}, {Text: f.Reason}}})
	}
	if len(failed.Rows) > 0 {
		s.Tables = append(s.Tables, failed)
	}
	for _, w := range r.Report.Withheld {
		s.Messages = append(s.Messages, page.Message{Level: page.Error, Text: fmt.Sprintf("Not published: %s", w.Publishable()), More: "missing: " + strings.Join(w.Missing, ", ")})
	}
	const listed = 2000
	added := page.Table{Caption: "Images that were copied", Columns: planpage.Columns("Image", "Kind", "Name at the destination", "#Size")}
	for _, img := range r.Report.New[:min(listed, len(r.Report.New))] {
		added.Rows = append(added.Rows, page.Row{Cells: []page.Cell{{Text: plan.SourceText(img.Source), Code: true}, {Text: string(img.Kind)}, {Text: strings.Join(img.Names(), ", "), Code: true}, planpage.Bytes(img.Size)}})
	}
	if n := len(r.Report.New); n > listed {
		added.Caption += fmt.Sprintf(": the first %d of %d", listed, n)
	}
	if len(added.Rows) > 0 {
		s.Tables = append(s.Tables, added)
	}
	if len(s.Tables)+len(s.Messages) == 0 {
		s.Messages = []page.Message{{Level: page.Note, Text: "Nothing had to be copied."}}
	}
	return s
}

// written shows the files of an archive, and the manifests for clusters.
func (r *Result) written() page.Section {
	s := page.Section{ID: "written", Title: "Written"}
	t := page.Table{Caption: "Files", Columns: planpage.Columns("File", "What", "#Size")}
	if a := r.Archive; a != nil {
		for _, f := range a.Files {
			t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: f.Name, Code: true}, {Text: fmt.Sprintf("archive, sequence %d", a.Sequence)}, planpage.Bytes(f.Size)}})
		}
	}
	if f := r.Resources; f != nil {
		for _, name := range f.Files {
			t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: name, Code: true}, {Text: "for clusters, in " + f.Dir}, {}}})
		}
	}
	for _, f := range [][2]string{{r.Receipt, "receipt"}, {r.RepairRequest, "repair request"}} {
		if f[0] != "" {
			t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: f[0], Code: true}, {Text: f[1]}, {}}})
		}
	}
	if len(t.Rows) > 0 {
		s.Tables = append(s.Tables, t)
	}
	return s
}
