package view

import (
	"fmt"
	"strings"

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
		t := newTable(&b, width)
		fmt.Fprintln(t, "  CHANNEL\tARCH\tHOP\tPOSSIBLE\tRISKS")
		done := map[string]bool{} // updates that need no hop
		for _, u := range r.Updates {
			if row := fmt.Sprintf("  %s\t%s\t%s\talready there\t-", u.Channel, u.Arch, u.To); len(u.Hops) == 0 && !done[row] {
				done[row] = true
				fmt.Fprintln(t, row)
			}
		}
		for _, h := range hops {
			possible, risks := "yes", "-"
			if !h.Possible {
				possible = "NO"
			}
			if len(h.Risks) > 0 {
				risks = OneLine(strings.Join(h.Risks, ", "))
			}
			fmt.Fprintf(t, "  %s\t%s\t%s -> %s\t%s\t%s\n", h.Channel, h.Arch, h.From, h.To, possible, risks)
		}
		_ = t.Flush() // into memory
	}
	var missing strings.Builder
	writeHopProblems(&missing, hops)
	for _, x := range r.Releases {
		writeProblems(&missing, "release "+x.Name, x.Problems)
	}
	writeProblems(&missing, "graph data", r.Problems)
	_, _, incomplete := r.Count()
	fmt.Fprintf(&b, "%d of %s complete%s.\n", len(r.Releases)-incomplete, Number(len(r.Releases), "release is", "releases are"), blobsText(r.Blobs))
	if missing.Len() > 0 {
		b.WriteString("Missing\n" + missing.String())
	}
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
	var problems []proof.Problem
	with := map[proof.Problem][]proof.ChannelHop{}
	for _, h := range hops {
		for _, p := range h.Problems {
			if with[p] == nil {
				problems = append(problems, p)
			}
			with[p] = append(with[p], h)
		}
	}
	var titles []string
	groups := map[string][]proof.Problem{}
	for _, p := range problems {
		title := hopsTitle(with[p])
		if groups[title] == nil {
			titles = append(titles, title)
		}
		groups[title] = append(groups[title], p)
	}
	for _, title := range titles {
		writeProblems(b, title, groups[title])
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
	section(b, "  "+what, each(problems, func(p proof.Problem) string {
		line := "  " + strings.ReplaceAll(p.Problem, "\n", "\n      ")
		if p.At != "" {
			line += "\n        at " + p.At
		}
		return line + "\n        " + p.Hint
	}))
}
