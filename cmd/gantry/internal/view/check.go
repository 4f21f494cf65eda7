package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog/extension"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
	"github.com/gantry-mirror/gantry/pkg/cluster/check"
)

// An OperatorCheck is the JSON of gantry check for operators.
type OperatorCheck struct {
	Version    int                       `json:"version"`
	Upgrades   upgrade.Report            `json:"upgrades"`
	Extensions []check.ResolvedExtension `json:"extensions,omitempty"`
	CRDSafety  *check.CRDSafety          `json:"crdSafety,omitempty"`
	Mirrored   []check.MirroredCheck     `json:"mirrored,omitempty"`
}

// Text returns the check as text.
func (c *OperatorCheck) Text() string {
	var b strings.Builder
	writeUpgrades(&b, &c.Upgrades)
	writeOffered(&b, &c.Upgrades)
	writeConflicts(&b, c.Upgrades.Conflicts)
	for _, r := range c.Extensions {
		writeResolved(&b, r)
	}
	writeCRDSafety(&b, c.CRDSafety)
	for _, m := range c.Mirrored {
		fmt.Fprintf(&b, "What %s has now:\n", m.At)
		writeUpgrades(&b, &m.Upgrades)
	}
	return b.String()
}

// writeUpgrades writes how each operator is updated.
func writeUpgrades(b *strings.Builder, r *upgrade.Report) {
	for _, o := range r.Operators {
		writeOperator(b, o)
	}
	writeBlocks(b, "", r.Platform)
	for _, note := range r.Notes {
		fmt.Fprintf(b, "note: %s\n", note)
	}
}

// writeConflicts writes a line for packages that provide the same APIs.
func writeConflicts(b *strings.Builder, all []upgrade.Conflict) {
	var order []string
	apis := map[string][]string{}
	for _, x := range all {
		packages := strings.Join(x.Packages, ", ")
		if apis[packages] == nil {
			order = append(order, packages)
		}
		apis[packages] = append(apis[packages], x.Kind+" ("+x.Group+")")
	}
	for _, packages := range order {
		fmt.Fprintf(b, "note: packages %s provide %s, and OLM installs only one of them in a cluster; choose one\n", packages, firstOf(apis[packages]))
	}
}

// writeOffered lists the heads that do not fit the clusters.
func writeOffered(b *strings.Builder, r *upgrade.Report) {
	if len(r.Offered) == 0 {
		return
	}
	version := "OpenShift " + r.ClusterVersion
	if r.Kubernetes != "" {
		version += " (Kubernetes " + r.Kubernetes + ")"
	}
	fmt.Fprintf(b, "Heads that do not fit %s:\n", version)
	for _, o := range r.Offered {
		fmt.Fprintf(b, "  %s %s, channel %s of %s\n", o.Package, o.Version, o.Channel, o.Catalog)
		writeBlocks(b, "    ", o.Blocks)
	}
	b.WriteString("  to fix it: mirror another version of them (minVersion, maxVersion or channels in the configuration), or a newer catalog\n")
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
	fmt.Fprintf(b, "%s (%s): %s\n", runs, where, outcomes[o.Outcome])
	if o.Explanation != "" {
		fmt.Fprintf(b, "  %s\n", o.Explanation)
	}
	for _, r := range o.Paths {
		writePath(b, r)
	}
	writeFixes(b, "  ", o.Fixes)
	if n := len(o.Unnamed); n > 0 {
		fmt.Fprintf(b, "  note: it runs %s that no bundle of the mirror names, so that pods may not start again: %s\n    to fix it: add %s to installed of the catalog in the configuration, or update the operator\n", Number(n, "image", "images"), firstOf(o.Unnamed), runs)
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

// outcomes describe how an operator is updated.
var outcomes = map[upgrade.Outcome]string{
	upgrade.AtHead:            "at the head",
	upgrade.ReachesHead:       "reaches the head",
	upgrade.NeedsPinning:      "reaches the head if versions are pinned hop by hop",
	upgrade.Ahead:             "newer than the mirror, not updated",
	upgrade.MissingDependency: "MISSING requirements of an update",
	upgrade.Downgraded:        "DOWNGRADED",
	upgrade.Stranded:          "STRANDED",
	upgrade.NotMirrored:       "NOT MIRRORED",
	upgrade.OtherSource:       "not from this mirror",
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

func writeResolved(b *strings.Builder, r check.ResolvedExtension) {
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
