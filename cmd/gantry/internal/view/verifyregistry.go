package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/plan/trust"
)

// VerifiedRegistry returns the result of verifying a registry as text.
func VerifiedRegistry(r *verify.VerifiedRegistry) string {
	var b strings.Builder
	if len(r.Missing) == 0 {
		blobs := textIf(r.Images == 1, "; its") + textIf(r.Images != 1, "; their") + " blobs were not checked (--blobs)"
		switch r.Blobs {
		case site.BlobsPresent:
			blobs = ", with every blob; the blobs were not read (--blobs=read)"
		case site.BlobsRead:
			blobs = ", and every manifest and blob was read and matches its digest"
		case site.BlobsNotChecked:
		}
		all := AllImages(r.Images)
		fmt.Fprintf(&b, "%s at %s%s.\n", strings.ToUpper(all[:1])+all[1:], r.Destination, blobs)
	}
	section(&b, "Missing at "+r.Destination, missingLines(r.Missing, func(repository string) string { return r.Names[repository].Name() }))
	for _, set := range r.ImageSets {
		fmt.Fprintf(&b, "Image set %s, revision %d of %s: %s%s.\n", set.Name, set.Revision, set.LastRun.Format("2006-01-02 15:04 UTC"), Number(set.Images, "image", "images"),
			textIf(set.Missing > 0, ", %d missing or incomplete", set.Missing))
	}
	b.WriteString(VerifiedSignatures(r.Verified))
	section(&b, "Refused by the signature policy", elements.Map(r.Refused, func(r trust.RefusedImage) string { return plan.SourceText(r.Source) + "\n      " + r.Reason }))
	writeVerifiedResources(&b, r.Resources)
	return b.String()
}

// missingLines returns images that are missing at a mirror, with what needs them. nameOf returns the
// repository of the mirror for one of the plan.
func missingLines(missing []mirror.MissingImage, nameOf func(string) string) []string {
	var lines []string
	for _, m := range missing {
		lines = append(lines, joined("\n      ",
			plan.SourceText(m.Source),
			textIf(m.Repository != "", "as %s%s", nameOf(m.Repository), tagged(m.Tags, m.Digest)),
			m.Problem,
			joined(" ", textIf(len(m.Reasons) > 0, "needed by"), requiredBy(m.Reasons))))
	}
	return lines
}

// writeMissingBefore writes what a repair found.
func writeMissingBefore(b *strings.Builder, missing []mirror.MissingImage) {
	section(b, "Missing before the repair", missingLines(missing, func(repository string) string { return repository }))
}

// writeVerifiedResources writes what was found about the cluster resources.
func writeVerifiedResources(b *strings.Builder, r *verify.VerifiedResources) {
	switch {
	case r == nil:
		b.WriteString("The workspace has no cluster resources of this mirror, so none were verified (--resources).\n")
		return
	case len(r.Problems) == 0:
		fmt.Fprintf(b, "The %d cluster resources in %s lead to content of the mirror.\n", r.Files, r.Dir)
	default:
		section(b, "Problems in the cluster resources in "+r.Dir, resourceLines(r.Problems))
	}
	section(b, "Not checked", resourceLines(r.Unchecked))
}

func resourceLines(all []verify.ResourceProblem) (lines []string) {
	for _, p := range all {
		lines = append(lines, joined(", ", OneLine(p.File), OneLine(p.Object), OneLine(p.Image))+"\n      "+OneLine(p.Problem))
	}
	return lines
}
