package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gantry-mirror/gantry/archive/inspect"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// setTitle returns the heading of a set.
func setTitle(s *inspect.InspectedSet) string {
	switch {
	case s.Repair:
		return fmt.Sprintf("Repair of sequence %d", s.Sequence)
	case s.Folder == "":
		return fmt.Sprintf("Sequence %d, which it builds on, is missing: %s", s.Sequence, s.Set)
	}
	return fmt.Sprintf("Sequence %d", s.Sequence)
}

// Inspection returns the description of an archive as text for a screen of this width; 0 is no limit.
func Inspection(r *inspect.Inspection, width int) string {
	var b strings.Builder
	signature := "none"
	if r.Signature != nil {
		signature = Signed(*r.Signature)
	}
	name := fmt.Sprintf("of %q", r.Name)
	if slices.ContainsFunc(r.Sets, func(s inspect.InspectedSet) bool { return s.Locked && s.Set == r.Set }) {
		name = "(the name is encrypted)"
	}
	b.WriteString(align(width, []string{
		"Archive\t" + strings.Join(r.Folders, ", "),
		fmt.Sprintf("Sequence\t%d %s", r.Sequence, name),
		fmt.Sprintf("Set manifest\t%s", r.Set),
		"Signature\t" + signature,
	}))
	for i := range r.Sets {
		writeSet(&b, &r.Sets[i], width)
	}
	writeIf(&b, len(r.Others) > 0, "\nOther archives in the folder, which --sequence selects: %s\n", strings.Trim(fmt.Sprint(r.Others), "[]"))
	writeInspectedPlan(&b, r, width)
	return Trimmed(b.String())
}

// writeSet writes a set and its volumes.
func writeSet(b *strings.Builder, s *inspect.InspectedSet, width int) {
	fmt.Fprintf(b, "\n%s\n", setTitle(s))
	if s.Folder == "" {
		return
	}
	content := Number(s.Content, "manifest or blob", "manifests and blobs") + " (" + progress.Bytes(s.Bytes) + ")"
	if s.Locked {
		content = "encrypted"
	}
	fmt.Fprintf(b, "  %s in %s, volumes of at most %s\n", content,
		Number(len(s.Volumes), "volume", "volumes"), progress.Bytes(s.VolumeSize))
	switch s.Recovered {
	case "copy":
		fmt.Fprintf(b, "  %s is missing; its copy in a volume is the same, byte for byte\n", s.Manifest)
	case "headers":
		fmt.Fprintf(b, "  %s is missing; whether it was signed, and what it builds on, is not known\n", s.Manifest)
	}
	if len(s.BuildsOn) > 0 {
		on := elements.Map(s.BuildsOn, func(base inspect.InspectedBase) string { return strconv.Itoa(base.Sequence) })
		fmt.Fprintf(b, "  builds on sequence %s", strings.Join(on, ", "))
		writeIf(b, s.Omitted > 0, ", which brought %s (%s) that new images share", Number(s.Omitted, "manifest or blob", "manifests and blobs"), progress.Bytes(s.OmittedBytes))
		b.WriteString("\n")
	}
	writeIf(b, s.Deltas > 0, "  carries %s (%s) as deltas (%s)\n", Number(s.Deltas, "blob", "blobs"), progress.Bytes(s.RebuiltBytes), progress.Bytes(s.DeltaBytes))
	writeIf(b, len(s.Features) > 0, "  format features: %s\n", strings.Join(s.Features, ", "))
	b.WriteString(align(width, elements.Map(s.Volumes, func(v inspect.InspectedVolume) string {
		where := joined(": ", Printable(v.Path), v.Problem)
		if v.Path == "" && v.Problem != "" {
			where = strings.ToUpper(v.Problem[:1]) + v.Problem[1:]
		}
		return fmt.Sprintf("  %s\t%s\t%s", v.Name, progress.Bytes(v.Size), where)
	})))
}

// writeInspectedPlan writes the summary of the plan, or why there is none.
func writeInspectedPlan(b *strings.Builder, r *inspect.Inspection, width int) {
	b.WriteString("\n")
	p := r.Plan
	if p == nil {
		fmt.Fprintf(b, "The plan cannot be read: %s.\n", r.PlanProblem)
		return
	}
	b.WriteString(align(width, append([]string{fmt.Sprintf("Plan\t%s", p.Digest)}, totals(p.Totals, p.Images)...)))
	for _, c := range p.Catalogs {
		fmt.Fprintf(b, "Catalog %s\n  becomes %s\n", Printable(c.Name), Printable(c.Image))
		List(b, elements.Map(c.Packages, Printable))
	}
	section(b, "Platform releases", elements.Map(p.Releases, func(r inspect.InspectedRelease) string {
		return Printable(r.Name) + textIf(r.Unverified, "  %s", NotVerified)
	}))
	writeIf(b, p.Missing > 0, "Missing at the source: %s\n", Number(p.Missing, "image", "images"))
	writeIf(b, p.Blocked > 0, "Blocked by the configuration: %s\n", Number(p.Blocked, "image", "images"))
}
