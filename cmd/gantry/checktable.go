package main

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog/extension"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
)

// showCheck prints what check found.
func (a *app) showCheck(form string, report upgrade.Report, resolved []resolvedExtension) error {
	if form != outputText {
		return a.print(form, struct {
			Version    int                 `json:"version"`
			Upgrades   upgrade.Report      `json:"upgrades"`
			Extensions []resolvedExtension `json:"extensions,omitempty"`
		}{1, report, resolved})
	}
	var b strings.Builder
	for _, answer := range report.Operators {
		writeAnswer(&b, answer)
	}
	for _, r := range resolved {
		writeResolved(&b, r)
	}
	return a.text(b.String())
}

func writeAnswer(b *strings.Builder, a upgrade.Answer) {
	runs := a.Bundle
	if runs == "" {
		runs = a.Package + " " + a.Version
	}
	where := a.Generation
	if a.Namespace != "" {
		where += ", " + a.Namespace
	}
	fmt.Fprintf(b, "%s (%s): %s\n", runs, where, fares(a.Outcome))
	if a.Why != "" {
		fmt.Fprintf(b, "  %s\n", a.Why)
	}
	for _, r := range a.Routes {
		writeRoute(b, r)
	}
	writeMends(b, "  ", a.Mends)
	for _, note := range a.Notes {
		fmt.Fprintf(b, "  note: %s\n", note)
	}
}

// fares is the word for how an operator fares.
func fares(o upgrade.Outcome) string {
	switch o {
	case upgrade.AtHead:
		return "at the head"
	case upgrade.Reaches:
		return "reaches the head"
	case upgrade.ByHand:
		return "reaches the head if versions are pinned hop by hop"
	case upgrade.Ahead:
		return "newer than the mirror, left alone"
	case upgrade.Lacking:
		return "LACKS what an update needs"
	case upgrade.Downgraded:
		return "DOWNGRADED"
	case upgrade.Stranded:
		return "STRANDED"
	case upgrade.NotMirrored:
		return "NOT MIRRORED"
	case upgrade.Elsewhere:
		return "not of this mirror"
	}
	return "cannot be told"
}

func writeRoute(b *strings.Builder, r upgrade.Route) {
	channel := ""
	if r.Channel != "" {
		channel = ", channel " + r.Channel
	}
	fmt.Fprintf(b, "  in %s%s: %s\n", r.Catalog, channel, r.Why)
	for _, h := range r.Hops {
		edge := ""
		if h.Edge != "" {
			edge = " (" + string(h.Edge) + ")"
		}
		fmt.Fprintf(b, "    -> %s%s\n", h.To, edge)
		writeBlocks(b, "       ", h.Blocks)
	}
	writeBlocks(b, "    ", r.Blocks)
	writeMends(b, "    ", r.Mends)
}

func writeBlocks(b *strings.Builder, indent string, blocks []upgrade.Block) {
	for _, block := range blocks {
		word := "blocked"
		if block.May {
			word = "may be blocked"
		}
		fmt.Fprintf(b, "%s%s: %s\n", indent, word, block.Message)
	}
}

func writeMends(b *strings.Builder, indent string, mends []upgrade.Mend) {
	for _, m := range mends {
		fmt.Fprintf(b, "%sto mend it: %s\n", indent, m.Message)
	}
}

func writeResolved(b *strings.Builder, r resolvedExtension) {
	fmt.Fprintf(b, "ClusterExtension %s (%s:%d): ", r.Name, r.File, r.Line)
	if r.Error != "" {
		fmt.Fprintf(b, "DOES NOT RESOLVE\n  %s\n", r.Error)
		return
	}
	fmt.Fprintf(b, "%s of %s\n", r.Resolution.Bundle, r.Resolution.Catalog)
	if r.Resolution.Why != "" {
		fmt.Fprintf(b, "  %s\n", r.Resolution.Why)
	}
	for _, text := range r.Resolution.Deprecated {
		fmt.Fprintf(b, "  deprecated: %s\n", text)
	}
	for _, refusal := range r.Resolution.Refusals {
		fmt.Fprintf(b, "  %s: %s %s\n", refusalWord(refusal), r.Resolution.Bundle, refusal.Message)
	}
}

// refusalWord says how sure it is that OLM v1 refuses a bundle.
func refusalWord(r extension.Refusal) string {
	switch {
	case r.Reason == extension.NoExcerpt:
		return "note"
	case r.Certain():
		return "refused"
	}
	return "may be refused"
}
