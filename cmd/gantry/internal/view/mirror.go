package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/plan/cluster"
)

// Mirrored returns the result of a run as text, and the next steps. Failures has what was not mirrored.
// notesAt is a clause that says where the notes of the plan are; if it is empty, they are not
// mentioned. pullFlags are the flags of gantry get for the destination.
func Mirrored(r *mirroring.Result, notesAt string, pullFlags []string) string {
	var b strings.Builder
	writeMissingBefore(&b, r.MissingBefore)
	writeCopied(&b, r)
	writeCheckedBlobs(&b, r.Report.Blobs)
	writeOmitted(&b, r.Archive)
	writeDeltas(&b, r.Archive)
	writeIf(&b, r.Blocked > 0, "Blocked by the configuration: %s, which catalogs may still list.\n", Number(r.Blocked, "image", "images"))
	writeIf(&b, r.UnsignedImages > 0 && r.Report.Copied+r.Report.Present > 0, "%s no signature.\n", Number(r.UnsignedImages, "image has", "images have"))
	writeIf(&b, len(r.Converted) > 0, "%s converted to other media types and other digests than at their sources; their signatures are left out.\n", Number(len(r.Converted), "image is", "images are"))
	b.WriteString(VerifiedSignatures(r.Verified))
	b.WriteString(Gate(r.Gate))
	writeIf(&b, len(r.Notes) > 0 && notesAt != "" && !r.NotesKnown, "%s about the plan: %s.\n", Number(len(r.Notes), "note", "notes"), notesAt)
	if !r.Report.Unfinished {
		writeResources(&b, r.Resources)
	}
	writeCharts(&b, r)
	writeFiles(&b, r, pullFlags)
	writeIf(&b, r.RepairRequest != "", "Repair request, for blobs that could not be rebuilt from deltas: %s\n", r.RepairRequest)
	writeIf(&b, r.Receipt != "", "Receipt: %s\n", r.Receipt)
	writeProgram(&b, r)
	writeNextSteps(&b, r)
	return b.String()
}

// Failures returns what is not at the destination, one text for each warning. Images that failed for
// the same reason are listed after each other, and the reason once.
func Failures(report *mirror.Report) []string {
	var texts []string
	for _, alike := range mirror.GroupFailures(report.Failed) {
		first, more := alike[0], alike[1:]
		same := ""
		if len(more) > 0 {
			one, many := "more image", "more images"
			if plan.IsFileSource(first.Source) && plan.IsFileSource(more[0].Source) {
				one, many = "more file", "more files"
			}
			same = "\n    and, for the same reason, " + Number(len(more), one, many) + ":"
		}
		texts = append(texts, fmt.Sprintf("not mirrored: %s\n    %s%s", plan.SourceText(first.Source), first.Reason, same))
		for _, x := range more {
			texts = append(texts, "not mirrored: "+plan.SourceText(x.Source))
		}
	}
	for _, x := range report.Excluded {
		texts = append(texts, fmt.Sprintf("excluded: package %s of catalog %s, which names %s", x.Package, x.Catalog, unavailable(len(x.Missing))))
	}
	for _, x := range report.Withheld {
		reason := textIf(x.Reason != "", "; %s", x.Reason)
		texts = append(texts, fmt.Sprintf("withheld: %s, which names %s%s", x.Publishable(), unavailable(len(x.Missing)), reason))
	}
	return texts
}

func unavailable(n int) string {
	return Number(n, "image that is", "images that are") + " unavailable"
}

// WithheldLater returns a warning about catalogs and releases in an archive or layout that name
// missing images, or "" if there are none. Other tools that read a layout do not withhold them.
func WithheldLater(r *mirroring.Result) string {
	switch {
	case r.Resources != nil || len(r.Withheld) == 0 || r.Report.Unfinished:
		return ""
	case strings.HasPrefix(r.Destination, env.LayoutScheme):
		return fmt.Sprintf("%s that name these images are in %s anyway, where other tools find them; do not publish them from there", sorts(r.Withheld), r.Destination)
	}
	return fmt.Sprintf("%s that name these images will be withheld when %s is mirrored to a registry", sorts(r.Withheld), r.Destination)
}

// sorts returns the kinds of content: "catalogs and releases".
func sorts(all []plan.Publishable) string {
	return joined(" and ",
		textIf(slices.ContainsFunc(all, func(p plan.Publishable) bool { return p.Catalog != "" }), "catalogs"),
		textIf(slices.ContainsFunc(all, func(p plan.Publishable) bool { return p.Release != "" }), "releases"))
}

// A Repair is the result of writing a repair, as gantry mirror --repair --output json prints it.
type Repair struct {
	Version     int    `json:"version"`
	Destination string `json:"destination"`
	*airgap.Repaired
}

// Text returns the result as text.
func (r *Repair) Text() string {
	if r.AlreadyPresent {
		return fmt.Sprintf("Nothing to write: the repair of sequence %d is at %s.\n", r.Sequence, r.Destination)
	}
	return fmt.Sprintf("Repair of sequence %d at %s: %s, %s.\nCarry it to the site and name its folder beside the one of the archive: --from file://DIR --from file://REPAIR.\n",
		r.Sequence, r.Destination, Number(r.Content, "manifest or blob", "manifests and blobs"), progress.Bytes(r.Bytes))
}

// writeCheckedBlobs writes which blobs of images that were already present were checked.
func writeCheckedBlobs(b *strings.Builder, c *mirror.CheckedBlobs) {
	if c == nil || c.Checked+c.Unchecked == 0 {
		return
	}
	switch all := c.Checked + c.Unchecked; {
	case c.Unchecked > 0:
		fmt.Fprintf(b, "Checked that %d of %s already present still exist; each run checks others, --blobs=check checks all, --blobs=read reads them.\n", c.Checked, Number(all, "blob", "blobs"))
	case c.Read:
		fmt.Fprintf(b, "Read %s already present and compared them with their digests.\n", Number(all, "blob", "blobs"))
	default:
		fmt.Fprintf(b, "Checked that all %s already present still exist; --blobs=read reads them.\n", Number(all, "blob", "blobs"))
	}
}

// writeCopied writes how much was copied.
func writeCopied(b *strings.Builder, r *mirroring.Result) {
	rep := r.Report
	switch {
	case rep.Unfinished:
		fmt.Fprintf(b, "Not finished: images failed while they were copied, so nothing new is published at %s. The next run continues with what was copied.\n", r.Destination)
		return
	case rep.UpToDate() && r.Archive != nil && r.Archive.BuildsOn > 0:
		writeHeadline(b, r.Archive, rep.Images, r.Destination)
		return
	case rep.UpToDate():
		fmt.Fprintf(b, "Nothing to copy: %s at %s.\n", AllImages(rep.Images), r.Destination)
		return
	case rep.Copied+rep.Present == 0:
		fmt.Fprintf(b, "Nothing was mirrored to %s.\n", r.Destination)
	case rep.Copied == 0:
		fmt.Fprintf(b, "Nothing new was mirrored to %s: %s already present.\n", r.Destination, Number(rep.Present, "image is", "images are"))
	case r.Archive != nil && r.Archive.Omitted != nil && rep.Present > 0:
		fmt.Fprintf(b, "Mirrored to %s: %s copied, %d already present or in the archives that it builds on.\n", r.Destination, Number(rep.Copied, "image", "images"), rep.Present)
	default:
		fmt.Fprintf(b, "Mirrored to %s: %s copied, %d already present.\n", r.Destination, Number(rep.Copied, "image", "images"), rep.Present)
	}
	if rep.BlobsCopied+rep.BlobsMounted+rep.Manifests == 0 {
		return
	}
	fmt.Fprintf(b, "Copied %s in %s and %s", progress.Bytes(rep.BytesCopied),
		Number(rep.BlobsCopied, "blob", "blobs"), Number(rep.Manifests, "manifest", "manifests"))
	writeIf(b, rep.BlobsMounted > 0, "; mounted %s (%s)", Number(rep.BlobsMounted, "blob", "blobs"), progress.Bytes(rep.BytesMounted))
	writeIf(b, rep.BlobsFound > 0, "; found %s (%s)", Number(rep.BlobsFound, "blob", "blobs"), progress.Bytes(r.Transfer.BytesFound))
	writeIf(b, r.Transfer.BytesShared > 0, "; content that images share was sent once, which saved %s", progress.Bytes(r.Transfer.BytesShared))
	b.WriteString(".\n")
}

// writeResources writes which manifests clusters apply, if any.
func writeResources(b *strings.Builder, f *cluster.ResourceFiles) {
	if f == nil || len(f.Files)+len(f.Removed)+len(f.Folders) == 0 {
		return
	}
	fmt.Fprintf(b, "Cluster resources: %s (%s)\n", f.Dir, Number(len(f.Files), "file", "files"))
	writeIf(b, len(f.Web) > 0, "  and %s for a web server in its folders: graphs for clusters without an update service, signatures\n", Number(len(f.Web), "file", "files"))
	writeAll(b, "  removed %s, which no longer applies\n", f.Removed)
	writeObjects(b, f.Objects)
	writeNodes(b, f)
	writeAll(b, "  note: %s\n", f.Notes)
	for _, more := range f.Folders {
		fmt.Fprintf(b, "Beside them: %s (%s)\n", more.Dir, Number(len(more.Files), "file", "files"))
		writeAll(b, "  removed %s, which no longer applies\n", more.Removed)
	}
}

// writeHeadline writes the result for an archive that builds on others if no image was copied.
func writeHeadline(b *strings.Builder, r *airgap.ExportResult, images int, destination string) {
	switch {
	case r.AlreadyPresent:
		fmt.Fprintf(b, "Nothing to copy: sequence %d at %s has this content. It builds on sequence %d, which sites that never imported it need too.\n", r.Sequence, destination, r.BuildsOn)
	case r.Empty:
		where, more := whereText(r.Bases), "For a second copy of a disk, copy its files; --base none writes all content.\n"
		if rest, ok := strings.CutPrefix(where, "the site has "); ok {
			where, more = "are at the site "+rest, "--base none writes all content.\n"
		}
		what := fmt.Sprintf("all %d images ", images)
		if images == 1 {
			what, where = "the image ", strings.Replace(where, "are ", "is ", 1)
		}
		fmt.Fprintf(b, "Nothing to copy, and nothing to carry: sequence %d at %s has no content, because %s%s.\n%s", r.Sequence, destination, what, where, more)
	default: // an earlier run copied everything
		fmt.Fprintf(b, "Nothing left to copy: sequence %d at %s is complete now.\n", r.Sequence, destination)
	}
}

// writeOmitted writes what an archive omits.
func writeOmitted(b *strings.Builder, r *airgap.ExportResult) {
	if r == nil || r.Omitted == nil || r.Empty {
		return
	}
	n, what := r.Omitted.Blobs, Number(r.Omitted.Blobs, "blob", "blobs")
	if n == 0 {
		n, what = r.Omitted.Manifests, Number(r.Omitted.Manifests, "manifest", "manifests")
	}
	where := whereText(r.Bases)
	if rest, ok := strings.CutPrefix(where, "are "); ok && n == 1 {
		where = "is " + rest
	}
	fmt.Fprintf(b, "Sequence %d omits %s (%s), which %s; --base none writes all content.\n", r.Sequence, what, progress.Bytes(r.Omitted.Bytes), where)
}

// whereText returns where omitted content is, as the continuation of a sentence.
func whereText(w airgap.BaseRange) string {
	switch {
	case w.Receipts > 1:
		return fmt.Sprintf("the sites of the %d receipts have, which imported the sequences up to %d", w.Receipts, w.Last)
	case w.Receipts == 1:
		return fmt.Sprintf("the site has according to its receipt, which covers the sequences up to %d", w.Last)
	case w.First == 0:
		return fmt.Sprintf("are in sequence %d and earlier ones", w.Last)
	case w.First == w.Last:
		return fmt.Sprintf("are in sequence %d", w.Last)
	}
	return fmt.Sprintf("are in sequences %d to %d", w.First, w.Last)
}

// ResourcesOnly returns the result of writing cluster resources without a copy as text.
func ResourcesOnly(r *mirroring.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Nothing was copied to %s; the cluster resources are those after a copy of %s.\n", r.Destination, Number(len(r.Plan.Images), "image", "images"))
	writeResources(&b, r.Resources)
	writeIf(&b, len(r.Withheld) > 0, "Without those of %s that name images missing at their sources.\n", sorts(r.Withheld))
	if r.Resources != nil {
		writeApply(&b, r.Resources)
	}
	return b.String()
}

// Resources returns which cluster resources were written again, and how they are applied.
func Resources(f *cluster.ResourceFiles) string {
	var b strings.Builder
	writeResources(&b, f)
	writeApply(&b, f)
	return b.String()
}
