package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gantry-mirror/gantry/archive/inspect"
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
	t := newTable(&b, width)
	fmt.Fprintf(t, "Archive\t%s\n", strings.Join(r.Folders, ", "))
	name := fmt.Sprintf("of %q", r.Name)
	if slices.ContainsFunc(r.Sets, func(s inspect.InspectedSet) bool { return s.Locked && s.Set == r.Set }) {
		name = "(the name is encrypted)"
	}
	fmt.Fprintf(t, "Sequence\t%d %s\n", r.Sequence, name)
	fmt.Fprintf(t, "Set manifest\t%s\n", r.Set)
	fmt.Fprintf(t, "Signature\t%s\n", signature)
	_ = t.Flush() // into memory
	for i := range r.Sets {
		writeSet(&b, &r.Sets[i], width)
	}
	if len(r.Others) > 0 {
		fmt.Fprintf(&b, "\nOther archives in the folder, which --sequence selects: %s\n", strings.Trim(fmt.Sprint(r.Others), "[]"))
	}
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
		on := each(s.BuildsOn, func(base inspect.InspectedBase) string { return strconv.Itoa(base.Sequence) })
		fmt.Fprintf(b, "  builds on sequence %s", strings.Join(on, ", "))
		if s.Omitted > 0 {
			fmt.Fprintf(b, ", which brought %s (%s) that new images share", Number(s.Omitted, "manifest or blob", "manifests and blobs"), progress.Bytes(s.OmittedBytes))
		}
		b.WriteString("\n")
	}
	if s.Deltas > 0 {
		fmt.Fprintf(b, "  carries %s (%s) as deltas (%s)\n", Number(s.Deltas, "blob", "blobs"), progress.Bytes(s.RebuiltBytes), progress.Bytes(s.DeltaBytes))
	}
	if len(s.Features) > 0 {
		fmt.Fprintf(b, "  format features: %s\n", strings.Join(s.Features, ", "))
	}
	t := newTable(b, width)
	for _, v := range s.Volumes {
		where := Printable(v.Path)
		if v.Problem != "" {
			where = strings.ToUpper(v.Problem[:1]) + v.Problem[1:]
			if v.Path != "" {
				where = Printable(v.Path) + ": " + v.Problem
			}
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\n", v.Name, progress.Bytes(v.Size), where)
	}
	_ = t.Flush() // into memory
}

// writeInspectedPlan writes the summary of the plan, or why there is none.
func writeInspectedPlan(b *strings.Builder, r *inspect.Inspection, width int) {
	b.WriteString("\n")
	p := r.Plan
	if p == nil {
		fmt.Fprintf(b, "The plan cannot be read: %s.\n", r.PlanProblem)
		return
	}
	t := newTable(b, width)
	fmt.Fprintf(t, "Plan\t%s\n", p.Digest)
	fmt.Fprintf(t, "Images\t%d\t(%s)\n", p.Totals.Images, Kinds(p.Images))
	fmt.Fprintf(t, "Content\t%s\t(%d manifests, %d blobs, each counted once)\n", progress.Bytes(p.Totals.Bytes), p.Totals.Manifests, p.Totals.Blobs)
	_ = t.Flush() // into memory
	for _, c := range p.Catalogs {
		fmt.Fprintf(b, "Catalog %s\n  becomes %s\n", Printable(c.Name), Printable(c.Image))
		List(b, each(c.Packages, Printable))
	}
	section(b, "Platform releases", each(p.Releases, func(r inspect.InspectedRelease) string {
		if r.Unverified {
			return Printable(r.Name) + "  " + NotVerified
		}
		return Printable(r.Name)
	}))
	if p.Missing > 0 {
		fmt.Fprintf(b, "Missing at the source: %s\n", Number(p.Missing, "image", "images"))
	}
	if p.Blocked > 0 {
		fmt.Fprintf(b, "Blocked by the configuration: %s\n", Number(p.Blocked, "image", "images"))
	}
}
