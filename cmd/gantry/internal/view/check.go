package view

import (
	"cmp"
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
		var now strings.Builder
		writeUpgrades(&now, &m.Upgrades)
		writeIf(&b, now.Len() > 0, "What %s has now:\n%s", m.At, now.String())
	}
	return b.String()
}

// writeUpgrades writes how each operator is updated.
func writeUpgrades(b *strings.Builder, r *upgrade.Report) {
	for _, o := range r.Operators {
		writeOperator(b, o)
	}
	writeBlocks(b, "", r.Platform)
	writeAll(b, "note: %s\n", r.Notes)
}

// writeConflicts writes a line for packages that provide the same APIs.
func writeConflicts(b *strings.Builder, all []upgrade.Conflict) {
	var apis grouped[string, string]
	for _, x := range all {
		apis.add(strings.Join(x.Packages, ", "), x.Kind+" ("+x.Group+")")
	}
	for _, packages := range apis.keys {
		fmt.Fprintf(b, "note: packages %s provide %s, and OLM installs only one of them in a cluster; choose one\n", packages, firstOf(apis.of[packages]))
	}
}

// writeOffered lists the heads that do not fit the clusters.
func writeOffered(b *strings.Builder, r *upgrade.Report) {
	version := "OpenShift " + r.ClusterVersion
	version += textIf(r.Kubernetes != "", " (Kubernetes %s)", r.Kubernetes)
	if len(r.Offered) == 0 {
		writeIf(b, r.Offered != nil && len(r.Operators) == 0, "All heads of default channels fit %s.\n", version)
		return
	}
	fmt.Fprintf(b, "Heads that do not fit %s:\n", version)
	for _, o := range r.Offered {
		fmt.Fprintf(b, "  %s %s, channel %s of %s\n", o.Package, o.Version, o.Channel, o.Catalog)
		writeBlocks(b, "    ", o.Blocks)
	}
	b.WriteString("  to fix it: mirror another version of them (minVersion, maxVersion or channels in the configuration), or a newer catalog\n")
}

func writeOperator(b *strings.Builder, o upgrade.Result) {
	runs := cmp.Or(o.Bundle, o.Package+" "+o.Version)
	where := o.Generation
	where += textIf(o.Namespace != "", ", %s", o.Namespace)
	fmt.Fprintf(b, "%s (%s): %s\n", runs, where, outcomes[o.Outcome])
	writeIf(b, o.Explanation != "", "  %s\n", o.Explanation)
	for _, r := range o.Paths {
		writePath(b, r)
	}
	writeFixes(b, "  ", o.Fixes)
	writeIf(b, len(o.Unnamed) > 0, "  note: it runs %s that no bundle of the mirror names, so that pods may not start again: %s\n    to fix it: add %s to installed of the catalog in the configuration, or update the operator\n", Number(len(o.Unnamed), "image", "images"), firstOf(o.Unnamed), runs)
	writeAll(b, "  note: %s\n", o.Notes)
}

// firstOf returns the first three texts of a list, and the number of others.
func firstOf(list []string) string {
	shown := list[:min(len(list), 3)]
	return strings.Join(shown, ", ") + textIf(len(list) > len(shown), " and %d more", len(list)-len(shown))
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
	channel := textIf(r.Channel != "", ", channel %s", r.Channel)
	fmt.Fprintf(b, "  in %s%s: %s\n", r.Catalog, channel, r.Explanation)
	for _, h := range r.Hops {
		edge := textIf(h.Edge != "", " (%s)", string(h.Edge))
		fmt.Fprintf(b, "    -> %s%s\n", h.To, edge)
		writeBlocks(b, "       ", h.Blocks)
	}
	writeBlocks(b, "    ", r.Blocks)
	writeFixes(b, "    ", r.Fixes)
}

func writeBlocks(b *strings.Builder, indent string, blocks []upgrade.Block) {
	for _, block := range blocks {
		fmt.Fprintf(b, "%s%s: %s\n", indent, cmp.Or(textIf(block.Possible, "may be blocked"), "blocked"), block.Message)
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
	writeIf(b, r.Resolution.Explanation != "", "  %s\n", r.Resolution.Explanation)
	writeAll(b, "  deprecated: %s\n", r.Resolution.Deprecated)
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
