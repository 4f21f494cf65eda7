package planpage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/page"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/asked"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// Options are a plan, and what is known beside it.
type Options struct {
	Plan *plan.Plan
	// Config and Source are the configuration; nil if it is unknown.
	Config *imageset.Config
	Source *page.Source
	// Graphs are the update graphs of packages, by the name of the catalog and of the package.
	Graphs map[string]map[string]diagram.Drawing
	// Before is the plan before; nil if there is none. Compared says that there may be one.
	Before   *plan.Outline
	Compared bool
	// Earlier are the plans before, the newest first, for the list of pruned versions.
	Earlier []Earlier
	// Warnings are added to those of the plan.
	Warnings []page.Message
}

// A builder makes the sections of a document.
type builder struct {
	Options
	find  *asked.Lines
	sizes map[string]plan.PartSize // by part
	// images are those of each part, and rows is how many of them are listed.
	images map[string][]*plan.Image
	rows   int
}

// The IDs of sections, for those that add to a document.
const (
	Attention  = "attention"
	Changes    = "changes"
	Sizes      = "sizes"
	Operators  = "operators"
	Required   = "dependencies"
	Pruned     = "pruned"
	Releases   = "releases"
	Updates    = "updates"
	Additional = "images"
	Signatures = "signatures"
)

// New makes the document of a plan.
func New(o Options) *page.Document {
	b := &builder{Options: o, find: asked.New(o.Config)}
	b.sizes = o.Plan.PartSizes(func(_ *plan.Image, r plan.Reason) string { return partOf(r).key })
	b.images = b.imagesOf()
	b.rows = b.imageRows()
	p := o.Plan
	d := &page.Document{Kind: "Plan", Title: p.Name, Lead: b.lead(), Facts: b.facts(), Source: o.Source}
	d.Sections = []page.Section{
		b.attention(), b.changes(), b.sizeSection(), b.operators(), b.dependencies(), b.pruned(), b.releases(), b.updates(), b.others(), b.signatures(),
	}
	return d
}

// pruned lists the versions of earlier plans that this one does not have.
func (b *builder) pruned() page.Section {
	if len(b.Earlier) == 0 {
		return page.Section{}
	}
	return page.Section{ID: Pruned, Title: "Pruned versions", Tables: PrunedVersions(b.Plan.Outline(), b.Earlier)}
}

// lead says in a sentence what the plan mirrors.
func (b *builder) lead() string {
	p := b.Plan
	var parts []string
	add := func(n int, one, many string) {
		if n > 0 {
			parts = append(parts, env.Number(n, one, many))
		}
	}
	packages := 0
	for _, c := range p.Catalogs {
		packages += len(c.Packages)
	}
	add(packages, "operator package", "operator packages")
	add(len(p.Releases), "platform release", "platform releases")
	add(len(p.Charts), "Helm chart", "Helm charts")
	add(len(p.Files), "file", "files")
	add(len(b.additional()), "additional image", "additional images")
	switch n := len(parts); n {
	case 0:
		return "The plan mirrors nothing."
	case 1:
		return "Mirrors " + parts[0] + "."
	default:
		return "Mirrors " + strings.Join(parts[:n-1], ", ") + " and " + parts[n-1] + "."
	}
}

func (b *builder) facts() []page.Fact {
	p := b.Plan
	facts := []page.Fact{
		{Name: "Content", Value: progress.Bytes(p.Totals.Bytes), Note: "each blob counted once"},
		{Name: "Images", Value: diagram.Count(p.Totals.Images), Note: fmt.Sprintf("%s manifests, %s blobs", diagram.Count(p.Totals.Manifests), diagram.Count(p.Totals.Blobs))},
	}
	if unsigned, all := p.Unsigned(); all > 0 {
		facts = append(facts, page.Fact{Name: "Signed", Value: fmt.Sprintf("%s of %s", diagram.Count(all-unsigned), diagram.Count(all)), Note: "images that can have a signature"})
	}
	if n := len(p.Missing); n > 0 {
		facts = append(facts, page.Fact{Name: "Missing", Value: diagram.Count(n), Note: "images unavailable at their sources"})
	}
	return facts
}

// attention are the messages that the reader should see first.
func (b *builder) attention() page.Section {
	p := b.Plan
	s := page.Section{ID: Attention, Title: "To look at", Messages: slices.Clone(b.Warnings)}
	for _, m := range p.Missing {
		text := "Missing at the source: " + plan.SourceText(m.Source)
		s.Messages = append(s.Messages, page.Message{Level: page.Error, Text: text, More: m.Message + "; required by " + requiredBy(m.Reasons), Line: b.line(m.Source, m.Reasons)})
	}
	for _, c := range p.Catalogs {
		for _, x := range c.Excluded {
			s.Messages = append(s.Messages, page.Message{Level: page.Warning, Text: fmt.Sprintf("Package %s of %s is left out, because images are unavailable", x.Package, c.Name()), More: strings.Join(x.Images, ", "), Line: b.find.InCatalog(&c, x.Package)})
		}
	}
	for i := range p.Releases {
		if r := &p.Releases[i]; r.Unverified {
			s.Messages = append(s.Messages, page.Message{Level: page.Warning, Text: "The signature of release " + r.Name() + " was not verified", More: "clusters may refuse it", Line: first(b.find.Release(r))})
		}
	}
	for _, x := range p.Blocked {
		s.Messages = append(s.Messages, page.Message{Level: page.Note, Text: "Blocked by the configuration: " + x.Source, More: "catalogs still list it; required by " + requiredBy(x.Reasons), Line: b.find.Blocked(x.Pattern)})
	}
	for _, note := range p.Notes {
		m := page.Message{Level: page.Note, Text: note, Line: b.noteLine(note)}
		for _, c := range p.Catalogs {
			if rest, ok := strings.CutPrefix(note, c.Name()+": "); ok {
				m.Text, m.More = strings.ToUpper(rest[:1])+rest[1:], c.Name()
			}
		}
		s.Messages = append(s.Messages, m)
	}
	rank := map[page.Level]int{page.Error: 0, page.Warning: 1, page.Note: 2}
	elements.Sort(s.Messages, func(x, y page.Message) int { return rank[x.Level] - rank[y.Level] })
	return s
}

// line returns the first line that asked for an image.
func (b *builder) line(source string, all []plan.Reason) int {
	for _, r := range all {
		if line := first(b.find.Of(b.Plan, source, r)); line > 0 {
			return line
		}
	}
	return 0
}

// first returns the first line, or 0.
func first(lines []int) int {
	if len(lines) == 0 {
		return 0
	}
	return lines[0]
}

// requiredBy names what needs an image.
func requiredBy(all []plan.Reason) string { return diagram.Few(plan.NeededBy(all), 3) }
