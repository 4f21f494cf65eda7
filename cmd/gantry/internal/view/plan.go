package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
)

// Plan returns a plan as text: what is kept of each package and why, the sizes, those of its notes that are not known, and
// what has to be copied. toCopy and deltas may be nil. width is the width of the screen; 0 is no limit.
func Plan(p *plan.Plan, notes []string, destination string, toCopy *mirror.ToCopy, deltas *airgap.PlannedDeltas, width int) string {
	var b strings.Builder
	for _, c := range p.Catalogs {
		writeCatalog(&b, p, c, width)
	}
	writePlatform(&b, p, width)
	writePlannedCharts(&b, p)
	writePlannedFiles(&b, p)
	paragraph(&b, "Additional images", additional(p))
	writeTagRules(&b, p.TagRules)
	writeRewritten(&b, p)
	paragraph(&b, "Blocked by the configuration (catalogs still list them)", elements.Map(p.Blocked, func(x plan.Blocked) string {
		return fmt.Sprintf("%s  by %q", x.Source, x.Pattern)
	}))
	paragraph(&b, "Missing at the source", elements.Map(p.Missing, func(x plan.Missing) string {
		return fmt.Sprintf("%s\n      required by %s\n      %s", plan.SourceText(x.Source), requiredBy(x.Reasons), x.Message)
	}))
	writeNotes(&b, notes, len(p.Notes)-len(notes), elements.Map(p.Catalogs, plan.Catalog.Name))
	writeTotals(&b, p, destination, toCopy, deltas, width)
	return b.String()
}

func writeCatalog(b *strings.Builder, p *plan.Plan, c plan.Catalog, width int) {
	fmt.Fprintf(b, "Catalog %s\n", c.Name())
	fmt.Fprintf(b, "  becomes %s:%s (%s, %s)\n\n", c.Repository, c.Tag, cmp.Or(textIf(c.Built, "rebuilt"), "unchanged"), Short(c.Digest))
	writeKept(b, c, p.PartSizes(func(_ *plan.Image, because plan.Reason) string {
		if because.Catalog != c.Name() {
			return ""
		}
		return because.Package
	}), width)
	writeFeatures(b, c, width)
	writeUnlisted(b, c)
}

// writeKept writes the packages of a catalog as a table, with sizes unless sizes is nil.
func writeKept(b *strings.Builder, c plan.Catalog, sizes map[string]plan.PartSize, width int) {
	head, known := "  PACKAGE\tCHANNEL\tHEAD\tVERSIONS\tBUNDLES\tKEPT FOR", sizes != nil
	head += textIf(known, "\tIMAGES\tSIZE")
	var rows []string
	for _, pkg := range c.Packages {
		s := sizes[pkg.Name]
		name, size := pkg.Name, fmt.Sprintf("\t%d\t%s", s.Images, progress.Bytes(s.Bytes))
		for _, ch := range pkg.Channels {
			channel := ch.Name
			channel += textIf(ch.Name == pkg.DefaultChannel, " (default)")
			if !known {
				size = ""
			}
			rows = append(rows, fmt.Sprintf("  %s\t%s\t%s\t%s\t%d\t%s%s", name, channel, ch.Head, versions(ch), len(ch.Bundles), reasons(ch), size))
			name, size = "", "\t\t"
		}
	}
	b.WriteString(tabulate(width, head, rows, "KEPT FOR", "BUNDLES", "HEAD", "IMAGES") + "\n")
}

// versions returns the versions of a channel, in order. Of more than 3, it returns the first and the last.
func versions(ch plan.Channel) string {
	var all []string
	for _, bundle := range ch.Bundles {
		if bundle.Version != "" && !slices.Contains(all, bundle.Version) {
			all = append(all, bundle.Version)
		}
	}
	elements.Sort(all, compareVersions)
	switch len(all) {
	case 0:
		return "-"
	case 1, 2, 3:
		return strings.Join(all, ", ")
	}
	return all[0] + " .. " + all[len(all)-1]
}

// reasons returns why a channel's bundles were kept, with their numbers: "head", "range 3,
// continuity 1".
func reasons(ch plan.Channel) string {
	count := map[string]int{}
	var order []string
	for _, bundle := range ch.Bundles {
		if count[bundle.Reason]++; count[bundle.Reason] == 1 {
			order = append(order, bundle.Reason)
		}
	}
	slices.Sort(order)
	for i, r := range order {
		if len(order) > 1 {
			order[i] = fmt.Sprintf("%s %d", r, count[r])
		}
	}
	return strings.Join(order, ", ")
}

func additional(p *plan.Plan) []string {
	var lines []string
	for _, img := range p.Images {
		if img.Kind == plan.AdditionalImage && !slices.ContainsFunc(img.Reasons, func(b plan.Reason) bool { return b.Chart != "" }) {
			lines = append(lines, fmt.Sprintf("%s  becomes %s:%s  %s", img.Source, img.Repository, img.Tags[0], progress.Bytes(img.Size)))
		}
	}
	return lines
}

// writeTagRules writes the rules that selected tags, with the days that ages stood for.
func writeTagRules(b *strings.Builder, rules []plan.TagRule) {
	paragraph(b, "Rules for tags", elements.Map(rules, func(r plan.TagRule) string {
		line := fmt.Sprintf("%s  %s: %s", r.Repository, r.Rule, Number(r.Selected, "tag", "tags"))
		line += textIf(r.CreatedBefore != "", ", created before %s", r.CreatedBefore)
		line += textIf(r.CreatedAfter != "", ", created on %s or later", r.CreatedAfter)
		return line
	}))
}

func requiredBy(because []plan.Reason) string { return firstOf(plan.NeededBy(because)) }

func writeTotals(b *strings.Builder, p *plan.Plan, destination string, toCopy *mirror.ToCopy, deltas *airgap.PlannedDeltas, width int) {
	count := map[plan.ImageKind]int{}
	for _, img := range p.Images {
		count[img.Kind]++
	}
	rows := totals(p.Totals, count)
	if unsigned, all := p.Unsigned(); unsigned > 0 {
		rows = slices.Insert(rows, 1, fmt.Sprintf("Signed\t%d\t(of %s that can have a signature; %d without)", all-unsigned, Number(all, "image", "images"), unsigned))
	}
	if toCopy != nil {
		where := textIf(strings.HasPrefix(destination, env.ArchiveScheme) && toCopy.Present > 0, ", in that folder or in earlier archives")
		rows = append(rows,
			fmt.Sprintf("To copy\t%s\t(%s, to %s)", progress.Bytes(toCopy.Bytes), Number(toCopy.Images, "image", "images"), destination),
			fmt.Sprintf("Present\t%s\t(%s%s)", progress.Bytes(toCopy.BytesPresent), Number(toCopy.Present, "image", "images"), where))
	}
	b.WriteString(align(width, append(rows, plannedDeltas(deltas)...)))
}

// totals returns the rows of a table about the size of a plan.
func totals(t plan.Totals, count map[plan.ImageKind]int) []string {
	return []string{
		fmt.Sprintf("Images\t%d\t(%s)", t.Images, Kinds(count)),
		fmt.Sprintf("Content\t%s\t(%s, %s, each counted once)", progress.Bytes(t.Bytes), Number(t.Manifests, "manifest", "manifests"), Number(t.Blobs, "blob", "blobs")),
	}
}
