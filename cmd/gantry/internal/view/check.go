package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry"
	"github.com/gantry-mirror/gantry/pkg/catalog/extension"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
)

// An OperatorCheck is the JSON of gantry check for operators.
type OperatorCheck struct {
	Version    int                        `json:"version"`
	Upgrades   upgrade.Report             `json:"upgrades"`
	Extensions []gantry.ResolvedExtension `json:"extensions,omitempty"`
	CRDSafety  *gantry.CRDSafety          `json:"crdSafety,omitempty"`
}

// Text returns the check as text.
func (c *OperatorCheck) Text() string {
	var b strings.Builder
	for _, o := range c.Upgrades.Operators {
		writeOperator(&b, o)
	}
	writeBlocks(&b, "", c.Upgrades.Platform)
	for _, x := range c.Upgrades.Conflicts {
		fmt.Fprintf(&b, "note: packages %s provide %s (%s); OLM installs only one of them in a cluster\n", strings.Join(x.Packages, ", "), x.Kind, x.Group)
	}
	for _, r := range c.Extensions {
		writeResolved(&b, r)
	}
	writeCRDSafety(&b, c.CRDSafety)
	return b.String()
}

func writeOperator(b *strings.Builder, o upgrade.Result) {
	runs := o.Bundle
	if runs == "" {
		runs = o.Package + " " + o.Version
	}
	where := o.Generation
	if o.Namespace != "" {
		where += ", " + o.Namespace
	}
	fmt.Fprintf(b, "%s (%s): %s\n", runs, where, outcome(o.Outcome))
	if o.Explanation != "" {
		fmt.Fprintf(b, "  %s\n", o.Explanation)
	}
	for _, r := range o.Paths {
		writePath(b, r)
	}
	writeFixes(b, "  ", o.Fixes)
	if n := len(o.Unnamed); n > 0 {
		fmt.Fprintf(b, "  note: it runs %s that no bundle of the mirror names, so that pods may not start again: %s\n", Number(n, "image", "images"), firstOf(o.Unnamed))
	}
	for _, note := range o.Notes {
		fmt.Fprintf(b, "  note: %s\n", note)
	}
}

// firstOf returns the first three texts of a list, and the number of others.
func firstOf(list []string) string {
	const most = 3
	if more := len(list) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), more)
	}
	return strings.Join(list, ", ")
}

// outcome describes how an operator is updated.
func outcome(o upgrade.Outcome) string {
	switch o {
	case upgrade.AtHead:
		return "at the head"
	case upgrade.ReachesHead:
		return "reaches the head"
	case upgrade.NeedsPinning:
		return "reaches the head if versions are pinned hop by hop"
	case upgrade.Ahead:
		return "newer than the mirror, not updated"
	case upgrade.MissingDependency:
		return "MISSING requirements of an update"
	case upgrade.Downgraded:
		return "DOWNGRADED"
	case upgrade.Stranded:
		return "STRANDED"
	case upgrade.NotMirrored:
		return "NOT MIRRORED"
	case upgrade.OtherSource:
		return "not from this mirror"
	}
	return "unknown"
}

func writePath(b *strings.Builder, r upgrade.Path) {
	channel := ""
	if r.Channel != "" {
		channel = ", channel " + r.Channel
	}
	fmt.Fprintf(b, "  in %s%s: %s\n", r.Catalog, channel, r.Explanation)
	for _, h := range r.Hops {
		edge := ""
		if h.Edge != "" {
			edge = " (" + string(h.Edge) + ")"
		}
		fmt.Fprintf(b, "    -> %s%s\n", h.To, edge)
		writeBlocks(b, "       ", h.Blocks)
	}
	writeBlocks(b, "    ", r.Blocks)
	writeFixes(b, "    ", r.Fixes)
}

func writeBlocks(b *strings.Builder, indent string, blocks []upgrade.Block) {
	for _, block := range blocks {
		word := "blocked"
		if block.Possible {
			word = "may be blocked"
		}
		fmt.Fprintf(b, "%s%s: %s\n", indent, word, block.Message)
	}
}

func writeFixes(b *strings.Builder, indent string, fixes []upgrade.Fix) {
	for _, m := range fixes {
		fmt.Fprintf(b, "%sto fix it: %s\n", indent, m.Message)
	}
}

func writeResolved(b *strings.Builder, r gantry.ResolvedExtension) {
	fmt.Fprintf(b, "ClusterExtension %s (%s:%d): ", r.Name, r.File, r.Line)
	if r.Error != "" {
		fmt.Fprintf(b, "DOES NOT RESOLVE\n  %s\n", r.Error)
		return
	}
	fmt.Fprintf(b, "%s of %s\n", r.Resolution.Bundle, r.Resolution.Catalog)
	if r.Resolution.Explanation != "" {
		fmt.Fprintf(b, "  %s\n", r.Resolution.Explanation)
	}
	for _, text := range r.Resolution.Deprecated {
		fmt.Fprintf(b, "  deprecated: %s\n", text)
	}
	for _, refusal := range r.Resolution.Refusals {
		fmt.Fprintf(b, "  %s: %s %s\n", refusalWord(refusal), r.Resolution.Bundle, refusal.Message)
	}
}

// refusalWord describes how certain it is that OLM v1 refuses a bundle.
func refusalWord(r extension.Refusal) string {
	switch {
	case r.Reason == extension.NoExcerpt:
		return "note"
	case r.Certain():
		return "refused"
	}
	return "may be refused"
}
