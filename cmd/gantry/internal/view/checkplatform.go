package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/plan/proof"
)

// PlatformCheck returns a report as text for a screen of this width, 0 is no limit: hops first, then
// what is missing.
func PlatformCheck(r *proof.Report, width int) string {
	var b strings.Builder
	hops := r.Hops()
	if len(r.Updates) > 0 {
		fmt.Fprintf(&b, "Updates with what is at %s\n", r.Mirror)
		var rows []string
		for _, u := range r.Updates {
			if row := fmt.Sprintf("  %s\t%s\t%s\talready there\t-", u.Channel, u.Arch, u.To); len(u.Hops) == 0 && !slices.Contains(rows, row) {
				rows = append(rows, row)
			}
		}
		for _, h := range hops {
			possible := cmp.Or(textIf(!h.Possible, "NO"), "yes")
			rows = append(rows, fmt.Sprintf("  %s\t%s\t%s -> %s\t%s\t%s", h.Channel, h.Arch, h.From, h.To, possible, cmp.Or(OneLine(strings.Join(h.Risks, ", ")), "-")))
		}
		b.WriteString(tabulate(width, "  CHANNEL\tARCH\tHOP\tPOSSIBLE\tRISKS", rows))
	}
	var missing strings.Builder
	writeHopProblems(&missing, hops)
	for _, x := range r.Releases {
		writeProblems(&missing, "release "+x.Name, x.Problems)
	}
	writeProblems(&missing, "graph data", r.Problems)
	_, _, incomplete := r.Count()
	fmt.Fprintf(&b, "%d of %s complete%s.\n", len(r.Releases)-incomplete, Number(len(r.Releases), "release is", "releases are"), blobsText(r.Blobs))
	writeIf(&b, missing.Len() > 0, "Missing\n%s", missing.String())
	section(&b, "Notes", r.Notes)
	return b.String()
}

// blobsText says how the blobs of releases were checked.
func blobsText(how string) string {
	switch site.BlobCheck(how) {
	case site.BlobsNotChecked:
		return "; their blobs were not checked (--blobs)"
	case site.BlobsPresent:
		return ", with every blob; the blobs were not read (--blobs=read)"
	case site.BlobsRead:
		return ", and every manifest and blob was read"
	}
	return ""
}

// writeHopProblems writes the problems of hops, each once, below the hops that have it: a missing release
// is a problem of every hop to it and from it.
func writeHopProblems(b *strings.Builder, hops []proof.ChannelHop) {
	var with grouped[proof.Problem, proof.ChannelHop]
	for _, h := range hops {
		for _, p := range h.Problems {
			with.add(p, h)
		}
	}
	var groups grouped[string, proof.Problem]
	for _, p := range with.keys {
		groups.add(hopsTitle(with.of[p]), p)
	}
	for _, title := range groups.keys {
		writeProblems(b, title, groups.of[title])
	}
}

// hopsTitle returns "updates 4.18.1 -> 4.19.2, 4.19.2 -> 4.20.2 in fast-4.20 for amd64".
func hopsTitle(hops []proof.ChannelHop) string {
	var titles, texts []string
	for i, h := range hops {
		texts = append(texts, h.From+" -> "+h.To)
		if i+1 < len(hops) && hops[i+1].Channel == h.Channel && hops[i+1].Arch == h.Arch {
			continue
		}
		titles = append(titles, fmt.Sprintf("%s %s in %s for %s", plural(len(texts), "update", "updates"), strings.Join(texts, ", "), h.Channel, h.Arch))
		texts = nil
	}
	return strings.Join(titles, "; ")
}

func writeProblems(b *strings.Builder, what string, problems []proof.Problem) {
	section(b, "  "+what, elements.Map(problems, func(p proof.Problem) string {
		line := "  " + strings.ReplaceAll(p.Problem, "\n", "\n      ")
		line += textIf(p.At != "", "\n        at %s", p.At)
		return line + "\n        " + p.Hint
	}))
}
