package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/plan"
)

// maxListed is how many lines a list in the table has before it is cut; the
// JSON has all of them.
const maxListed = 20

// planTable is the plan as a person decides by it: what is kept of each
// package and why, how much that is, what is odd, and what has to move.
func planTable(p *plan.Plan, destination string, missing *mirror.Missing) string {
	var b strings.Builder
	for _, c := range p.Catalogs {
		writeCatalog(&b, p, c)
	}
	writePlatform(&b, p)
	if extra := additional(p); len(extra) > 0 {
		fmt.Fprintf(&b, "Additional images\n")
		list(&b, extra)
		b.WriteByte('\n')
	}
	if len(p.Blocked) > 0 {
		fmt.Fprintf(&b, "Blocked by the configuration (catalogs still list them)\n")
		var lines []string
		for _, x := range p.Blocked {
			lines = append(lines, fmt.Sprintf("%s  by %q", x.Source, x.Pattern))
		}
		list(&b, lines)
		b.WriteByte('\n')
	}
	if len(p.Missing) > 0 {
		fmt.Fprintf(&b, "Missing at the source\n")
		var lines []string
		for _, x := range p.Missing {
			lines = append(lines, fmt.Sprintf("%s\n      wanted by %s\n      %s", x.Source, wantedBy(x.Because), x.Reason))
		}
		list(&b, lines)
		b.WriteByte('\n')
	}
	if len(p.Notes) > 0 {
		b.WriteString("Notes\n")
		list(&b, p.Notes)
		b.WriteByte('\n')
	}
	writeTotals(&b, p, destination, missing)
	return b.String()
}

func list(b *strings.Builder, lines []string) {
	for _, l := range lines[:min(len(lines), maxListed)] {
		fmt.Fprintf(b, "  %s\n", l)
	}
	if n := len(lines) - maxListed; n > 0 {
		fmt.Fprintf(b, "  ... and %d more (--output json lists all)\n", n)
	}
}

func writeCatalog(b *strings.Builder, p *plan.Plan, c plan.Catalog) {
	fmt.Fprintf(b, "Catalog %s\n", c.Name())
	how := "as it is"
	if c.Built {
		how = "rebuilt"
	}
	fmt.Fprintf(b, "  becomes %s:%s (%s, %s)\n\n", c.Repository, c.Tag, how, short(c.Digest))
	writeKept(b, c, sizes(p, func(because plan.Because) string {
		if because.Catalog != c.Name() {
			return ""
		}
		return because.Package
	}))
}

// writeKept is the table of a catalog's packages, with what they bring where
// that is known.
func writeKept(b *strings.Builder, c plan.Catalog, sizes map[string]partSize) {
	var rows strings.Builder
	t := tabwriter.NewWriter(&rows, 0, 0, 2, ' ', 0)
	head, known := "  PACKAGE\tCHANNEL\tHEAD\tVERSIONS\tBUNDLES\tKEPT FOR", sizes != nil
	if known {
		head += "\tIMAGES\tSIZE"
	}
	fmt.Fprintln(t, head)
	for _, pkg := range c.Packages {
		s := sizes[pkg.Name]
		name, size := pkg.Name, fmt.Sprintf("\t%d\t%s", s.images, progress.Bytes(s.bytes))
		for _, ch := range pkg.Channels {
			channel := ch.Name
			if ch.Name == pkg.DefaultChannel {
				channel += " (default)"
			}
			if !known {
				size = ""
			}
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%d\t%s%s\n", name, channel, ch.Head, versions(ch), len(ch.Bundles), reasons(ch), size)
			name, size = "", "\t\t"
		}
	}
	_ = t.Flush() // into memory
	b.WriteString(trimmed(rows.String()))
	b.WriteByte('\n')
}

// trimmed is a text without blanks at the ends of its lines.
func trimmed(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}

// versions is the span of a channel's versions, in the order of the catalog.
func versions(ch plan.Channel) string {
	var all []string
	for _, bundle := range ch.Bundles {
		if bundle.Version != "" && !slices.Contains(all, bundle.Version) {
			all = append(all, bundle.Version)
		}
	}
	sortVersions(all)
	switch len(all) {
	case 0:
		return "-"
	case 1, 2, 3:
		return strings.Join(all, ", ")
	}
	return all[0] + " .. " + all[len(all)-1]
}

// reasons counts why a channel's bundles were kept: "head", "range 3,
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

type partSize struct {
	images int
	bytes  int64
}

// sizes is what each part of a plan brings, such as a package or a release, what
// its images share counted once; of tells the part that a reason belongs to, or "".
// Parts share too, so that the sum is more than the total. It is nil where the
// plan's content is not known.
func sizes(p *plan.Plan, of func(plan.Because) string) map[string]partSize {
	contents, err := p.Contents()
	if err != nil {
		return nil
	}
	seen := map[string]map[digest.Digest]bool{}
	sizes := map[string]partSize{}
	var counted []string // the parts of an image
	for _, img := range p.Images {
		counted = counted[:0]
		for _, because := range img.Because {
			name := of(because)
			if name == "" || slices.Contains(counted, name) {
				continue
			}
			counted = append(counted, name)
			s := sizes[name]
			s.images++
			if seen[name] == nil {
				seen[name] = map[digest.Digest]bool{}
			}
			add := func(d digest.Digest, n int64) {
				if !seen[name][d] {
					seen[name][d] = true
					s.bytes += n
				}
			}
			_ = contents.Walk(img.Digest, // the plan has been checked
				func(m *plan.Manifest) error { add(m.Digest, m.Size); return nil },
				func(blob plan.Blob) error { add(blob.Digest, blob.Size); return nil })
			sizes[name] = s
		}
	}
	return sizes
}

func additional(p *plan.Plan) []string {
	var lines []string
	for _, img := range p.Images {
		if img.Kind == plan.AdditionalImage {
			lines = append(lines, fmt.Sprintf("%s  becomes %s:%s  %s", img.Source, img.Repository, img.Tags[0], progress.Bytes(img.Size)))
		}
	}
	return lines
}

func wantedBy(because []plan.Because) string {
	var who []string
	for _, b := range because {
		name := b.Bundle
		switch {
		case b.Release != "":
			name = "release " + b.Release
		case name == "":
			name = "mirror." + b.List
		}
		if !slices.Contains(who, name) {
			who = append(who, name)
		}
	}
	if n := len(who); n > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(who[:3], ", "), n-3)
	}
	return strings.Join(who, ", ")
}

func writeTotals(b *strings.Builder, p *plan.Plan, destination string, missing *mirror.Missing) {
	count := map[plan.ImageKind]int{}
	for _, img := range p.Images {
		count[img.Kind]++
	}
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "Images\t%d\t(%s)\n", p.Totals.Images, kinds(count))
	fmt.Fprintf(t, "Content\t%s\t(%d manifests, %d blobs, each counted once)\n", progress.Bytes(p.Totals.Bytes), p.Totals.Manifests, p.Totals.Blobs)
	if missing != nil {
		fmt.Fprintf(t, "To move\t%s\t(%d images, to %s)\n", progress.Bytes(missing.Bytes), missing.Images, destination)
		where := ""
		if strings.HasPrefix(destination, fileScheme) && missing.Present > 0 {
			where = ", in that folder or in archives before"
		}
		fmt.Fprintf(t, "There\t%s\t(%d images%s)\n", progress.Bytes(missing.AlreadyThere), missing.Present, where)
	}
	_ = t.Flush() // into memory
}

// kinds counts images by their kind. Kinds of which there is none are named where
// nothing of a release is there.
func kinds(count map[plan.ImageKind]int) string {
	of := func(all []plan.ImageKind, none bool) (parts []string) {
		for _, kind := range all {
			if n := count[kind]; n > 0 || none {
				parts = append(parts, fmt.Sprintf("%d %s", n, kind))
			}
		}
		return parts
	}
	platform := of([]plan.ImageKind{plan.ReleaseImage, plan.ComponentImage, plan.BootImage, plan.SignatureImage, plan.GraphImage}, false)
	rest := of([]plan.ImageKind{plan.BundleImage, plan.RelatedImage, plan.AdditionalImage, plan.CatalogImage}, len(platform) == 0)
	return strings.Join(append(rest, platform...), ", ")
}

// short is a digest as far as a person reads it.
func short(d digest.Digest) string {
	if s := d.String(); len(s) > 19 {
		return s[:19]
	}
	return d.String()
}

// joined is "1, 2 or 3".
func joined(all []string) string {
	text := ""
	for i, s := range all {
		switch {
		case i == 0:
		case i == len(all)-1:
			text += " or "
		default:
			text += ", "
		}
		text += s
	}
	return text
}
