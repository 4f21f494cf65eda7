package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/carry"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/sshsig"
	"github.com/gantry-mirror/gantry/plan"
)

// mirrorResult is what gantry mirror --output json prints.
type mirrorResult struct {
	Version     int    `json:"version"`
	Destination string `json:"destination"`
	// Signature is that of the archive that was read; nil where there is none.
	Signature *sshsig.Verdict `json:"signature,omitempty"`
	Report    *mirror.Report  `json:"report"`
	// Notes are the plan's. Blocked is how many images mirror.blockedImages left
	// out of it.
	Notes     []string       `json:"notes,omitempty"`
	Blocked   int            `json:"blocked,omitempty"`
	Resources *resourceFiles `json:"resources,omitempty"`
	Transfer  *transfer      `json:"transfer,omitempty"`
	// Archive is the one that was written; nil for other destinations.
	Archive *carry.Written `json:"archive,omitempty"`
	// Receipt is the file that says what the mirror has of the archive; "" where none
	// was read.
	Receipt string `json:"receipt,omitempty"`

	gaps []plan.Whole // catalogs and releases that name images which the plan misses
}

// heldLater says what becomes of what names missing images, behind an archive or a
// layout. Other tools read layouts, and hold nothing back.
func heldLater(destination string) string {
	if strings.HasPrefix(destination, ociScheme) {
		return "are in " + destination + " all the same, where other tools find them: do not publish them from there"
	}
	return "will be held back where " + destination + " is mirrored from"
}

// showResult prints what was done; what was not goes to stderr.
func (a *app) showResult(r *mirrorResult) error {
	if a.events != nil {
		a.events.summary(r)
	}
	if a.output == outputJSON {
		return a.encode(r)
	}
	a.sayFailed(r.Report)
	if r.Resources == nil && len(r.gaps) > 0 && !r.Report.Unfinished {
		a.warn("%s that name these images %s", wholesText(r.gaps), heldLater(r.Destination))
	}
	var b strings.Builder
	r.writeCopied(&b)
	writeLeftOut(&b, r.Archive)
	if r.Blocked > 0 {
		fmt.Fprintf(&b, "Blocked by the configuration: %s, which catalogs may still list.\n", number(r.Blocked, "image", "images"))
	}
	if len(r.Notes) > 0 {
		b.WriteString("Notes\n")
		list(&b, r.Notes)
	}
	if !r.Report.Unfinished {
		r.Resources.write(&b)
	}
	if r.Receipt != "" {
		fmt.Fprintf(&b, "Receipt: %s\n", r.Receipt)
	}
	if err := a.text(b.String()); err != nil {
		return err
	}
	a.say("%s", r.Transfer)
	return nil
}

// sayFailed lists what is not at the destination.
func (a *app) sayFailed(rep *mirror.Report) {
	for _, alike := range mirror.Alike(rep.Failed) {
		first, more := alike[0], alike[1:]
		likewise := ""
		if len(more) > 0 {
			likewise = "\n    and likewise " + number(len(more), "more image", "more images") + ":"
		}
		a.warn("not mirrored: %s\n    %s%s", first.Source, first.Reason, likewise)
		for _, x := range more {
			a.warn("not mirrored: %s", x.Source)
		}
	}
	for _, x := range rep.LeftOut {
		a.warn("left out: package %s of catalog %s, which names %s", x.Package, x.Catalog, notThere(len(x.Missing)))
	}
	for _, x := range rep.Held {
		reason := ""
		if x.Reason != "" {
			reason = "; " + x.Reason
		}
		a.warn("held back: %s, which names %s%s", x.Whole(), notThere(len(x.Missing)), reason)
	}
}

// wholesText is what sort of things they are: "catalogs and releases".
func wholesText(wholes []plan.Whole) string {
	var sorts []string
	if slices.ContainsFunc(wholes, func(w plan.Whole) bool { return w.Catalog != "" }) {
		sorts = append(sorts, "catalogs")
	}
	if slices.ContainsFunc(wholes, func(w plan.Whole) bool { return w.Release != "" }) {
		sorts = append(sorts, "releases")
	}
	return strings.Join(sorts, " and ")
}

func notThere(n int) string {
	return number(n, "image that is", "images that are") + " not there"
}

func (r *mirrorResult) writeCopied(b *strings.Builder) {
	rep := r.Report
	switch {
	case rep.Unfinished:
		fmt.Fprintf(b, "Not finished: nothing new stands at %s, since images failed while they were copied. What was copied is kept there for the next run.\n", r.Destination)
		return
	case rep.Nothing() && r.Archive != nil && r.Archive.BuildsOn > 0:
		writeHeadline(b, r.Archive, rep.Images, r.Destination)
		return
	case rep.Nothing():
		fmt.Fprintf(b, "Nothing to copy: %s at %s.\n", everything(rep.Images), r.Destination)
		return
	case rep.Copied+rep.Present == 0:
		fmt.Fprintf(b, "Nothing was mirrored to %s.\n", r.Destination)
	case rep.Copied == 0:
		fmt.Fprintf(b, "Nothing new was mirrored to %s: %s there.\n", r.Destination, number(rep.Present, "image is", "images are"))
	case r.Archive != nil && r.Archive.LeftOut != nil && rep.Present > 0:
		fmt.Fprintf(b, "Mirrored to %s: %s copied, %d there or in what it builds on.\n", r.Destination, number(rep.Copied, "image", "images"), rep.Present)
	default:
		fmt.Fprintf(b, "Mirrored to %s: %s copied, %d there before.\n", r.Destination, number(rep.Copied, "image", "images"), rep.Present)
	}
	if rep.BlobsCopied+rep.BlobsMounted+rep.Manifests == 0 {
		return
	}
	fmt.Fprintf(b, "Copied %s in %s and %s", progress.Bytes(rep.BytesCopied),
		number(rep.BlobsCopied, "blob", "blobs"), number(rep.Manifests, "manifest", "manifests"))
	if rep.BlobsMounted > 0 {
		fmt.Fprintf(b, "; mounted %s (%s) instead of sending", number(rep.BlobsMounted, "blob", "blobs"), progress.Bytes(rep.BytesMounted))
	}
	if rep.BlobsFound > 0 {
		fmt.Fprintf(b, "; found %s (%s)", number(rep.BlobsFound, "blob", "blobs"), progress.Bytes(r.Transfer.BytesFound))
	}
	if r.Transfer.BytesShared > 0 {
		fmt.Fprintf(b, "; what images share was sent once, which saved %s", progress.Bytes(r.Transfer.BytesShared))
	}
	b.WriteString(".\n")
}

// write says what is there to apply; nothing where there is and was nothing.
func (f *resourceFiles) write(b *strings.Builder) {
	if f == nil || len(f.Files)+len(f.Removed) == 0 {
		return
	}
	fmt.Fprintf(b, "Cluster resources: %s (%s)\n", f.Dir, number(len(f.Files), "file", "files"))
	if len(f.Web) > 0 {
		fmt.Fprintf(b, "  and %s for a web server in its folders: graphs for clusters without an update service, signatures\n", number(len(f.Web), "file", "files"))
	}
	for _, name := range f.Removed {
		fmt.Fprintf(b, "  removed %s, which no longer applies\n", name)
	}
	for _, n := range f.Notes {
		fmt.Fprintf(b, "  note: %s\n", n)
	}
}
