package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/page"
	"github.com/gantry-mirror/gantry/pkg/page/planpage"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// Page is Archive, and describes the archive as a page: its volumes, its deltas, and what its plan has.
func Page(ctx context.Context, o open.Options) (*Inspection, *page.Document, error) {
	r, p, err := inspectArchive(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	d := &page.Document{}
	if p != nil {
		cfg, source := planpage.Selected(p)
		d = planpage.New(planpage.Options{Plan: p, Config: cfg, Source: source, Earlier: r.earlierPlans(ctx, o)})
	} else {
		d.Sections = []page.Section{{ID: planpage.Attention, Title: "To look at", Messages: []page.Message{{Level: page.Warning, Text: "The plan cannot be read: " + r.PlanProblem}}}}
	}
	d.Kind, d.Title = "Archive", fmt.Sprintf("%s, sequence %d", r.Name, r.Sequence)
	d.Lead = strings.TrimSpace(fmt.Sprintf("%s: %s. %s", strings.Join(r.Folders, ", "), r.signed(), d.Lead))
	d.Facts = slices.Insert(d.Facts, 0, r.facts()...)
	d.Sections = slices.Insert(d.Sections, 1, r.volumes())
	if r.Missing > 0 {
		d.Sections[0].Messages = slices.Insert(d.Sections[0].Messages, 0, page.Message{Level: page.Error, Text: env.Number(r.Missing, "volume is", "volumes are") + " missing or unusable", More: "the table of volumes names them; copy them again, or rebuild them with gantry archive rebuild"})
	}
	return r, d, nil
}

// earlierPlans returns the plans of the archives that the archive builds on, the newest first, as far as the folders have
// them.
func (r *Inspection) earlierPlans(ctx context.Context, o open.Options) (all []planpage.Earlier) {
	var sequences []int
	for _, s := range r.Sets {
		if s.Folder != "" && !s.Repair && s.Sequence < r.Sequence && !slices.Contains(sequences, s.Sequence) {
			sequences = append(sequences, s.Sequence)
		}
	}
	slices.Sort(sequences)
	for _, sequence := range slices.Backward(sequences[max(0, len(sequences)-planpage.MaxEarlier):]) {
		o.Sequence = sequence
		if outline, err := OutlineArchive(ctx, o, nil, &ComparedArchive{}); err == nil { // others are in the table of archives
			all = append(all, planpage.Earlier{Name: fmt.Sprintf("sequence %d", sequence), Plan: outline})
		}
	}
	return all
}

// signed says who signed the archive.
func (r *Inspection) signed() string {
	switch v := r.Signature; {
	case v == nil:
		return "not signed"
	case v.Signer == nil || !v.Trusted:
		return "signed, and the signer is not checked"
	default:
		return "signed by a trusted signer, " + fmt.Sprint(v.Signer)
	}
}

func (r *Inspection) facts() []page.Fact {
	var volumes int
	var size, deltas, rebuilt int64
	for _, s := range r.Sets {
		for _, v := range s.Volumes {
			volumes++
			size += v.Size
		}
		deltas, rebuilt = deltas+s.DeltaBytes, rebuilt+s.RebuiltBytes
	}
	facts := []page.Fact{{Name: "On disk", Value: progress.Bytes(size), Note: env.Number(volumes, "volume", "volumes")}}
	if rebuilt > 0 {
		facts = append(facts, page.Fact{Name: "Saved by deltas", Value: progress.Bytes(rebuilt - deltas), Note: fmt.Sprintf("%s carry %s", progress.Bytes(deltas), progress.Bytes(rebuilt))})
	}
	return facts
}

// volumes shows the archive with those that it builds on, and their files.
func (r *Inspection) volumes() page.Section {
	sets := page.Table{Caption: "The archive, its repairs, and what it builds on", Columns: planpage.Columns("Archive", "Builds on", "#Blobs", "#Size", "#In earlier archives", "#Deltas", "#They save", "Format features")}
	files := page.Table{Caption: "Volumes", Columns: planpage.Columns("File", "Archive", "State", "Place", "#Size")}
	for _, s := range r.Sets {
		name := page.Cell{Text: fmt.Sprintf("sequence %d", s.Sequence), Note: string(s.Set)[:min(len(s.Set), len("sha256:")+12)]}
		for _, t := range []struct {
			has bool
			tag page.Tag
		}{{s.Repair, page.Tag{Text: "repair", Look: page.Plain}}, {s.Folder == "", page.Tag{Text: "not in the folders", Look: page.Warn}}, {s.Locked, page.Tag{Text: "encrypted, locked", Look: page.Warn}}, {s.Encrypted && !s.Locked, page.Tag{Text: "encrypted", Look: page.Plain}}} {
			if t.has {
				name.Tags = append(name.Tags, t.tag)
			}
		}
		bases := elements.Map(s.BuildsOn, func(b InspectedBase) string { return fmt.Sprint(b.Sequence) })
		sets.Rows = append(sets.Rows, page.Row{Cells: []page.Cell{
			name, {Text: strings.Join(bases, ", ")}, planpage.Count(s.Content), planpage.Bytes(s.Bytes), planpage.Bytes(s.OmittedBytes), planpage.Count(s.Deltas), planpage.Bytes(s.RebuiltBytes - s.DeltaBytes), {Text: strings.Join(s.Features, ", ")},
		}})
		for _, v := range s.Volumes {
			state := page.Cell{Tags: []page.Tag{{Text: "present", Look: page.Good}}}
			if v.Problem != "" {
				state = page.Cell{Tags: []page.Tag{{Text: "unusable", Look: page.Bad}}, Note: v.Problem}
			}
			files.Rows = append(files.Rows, page.Row{Cells: []page.Cell{{Text: v.Name, Code: true}, {Text: fmt.Sprintf("sequence %d", s.Sequence)}, state, {Text: v.Path, Code: true}, planpage.Bytes(v.Size)}})
		}
	}
	return page.Section{ID: "volumes", Title: "Volumes", Lead: "The content of volumes is not read; gantry verify does that.", Tables: []page.Table{sets, files}}
}
