package view

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gantry-mirror/gantry/archive/program"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
)

// VerifiedArchive returns the result of verifying an archive as text.
func VerifiedArchive(r *verify.VerifiedArchive) string {
	var b strings.Builder
	if r.Signature != nil {
		fmt.Fprintf(&b, "The archive is signed %s.\n", Signed(*r.Signature))
	}
	if len(r.Damage) == 0 {
		images := Number(r.Images, "image", "images") + ", "
		if r.Earlier != nil && r.Earlier.Plan || r.NeedsIdentity {
			images = ""
		}
		fmt.Fprintf(&b, "The archive in %s is intact: %s%s, every byte verified.\n", r.Archive, images, progress.Bytes(r.Bytes))
		writeIf(&b, r.NeedsIdentity, "It is encrypted: its images are unknown without --identity.\n")
		writeUnread(&b, r)
		for _, p := range r.Programs {
			writeVerifiedProgram(&b, p)
		}
		return b.String()
	}
	fmt.Fprintf(&b, "Damaged in %s\n", r.Archive)
	for _, d := range r.Damage {
		b.WriteString("  " + d.Text)
		writeIf(&b, d.Recoverable && !r.Intact(), " (another copy is intact)")
		b.WriteString("\n")
		writeBreaks(&b, d.Breaks)
	}
	switch {
	case r.Intact():
		b.WriteString("Nothing is lost: a repair or another copy has the damaged content.\n")
	case r.NeedsIdentity:
		b.WriteString("It is encrypted: the affected images are unknown without --identity.\n")
	case r.PlanLost:
		b.WriteString("The affected images are unknown because the plan in the archive is lost too.\n")
	case r.Earlier != nil && r.Earlier.Plan:
		b.WriteString("The affected images are unknown because the plan is in an earlier archive.\n")
	default:
		fmt.Fprintf(&b, "%d of %d images are broken.\n", len(r.Broken), r.Images)
	}
	writeUnread(&b, r)
	return b.String()
}

// writeBreaks writes the images that damage breaks.
func writeBreaks(b *strings.Builder, images []string) {
	var text strings.Builder
	if section(&text, "breaks", images); len(images) > 0 {
		b.WriteString(strings.ReplaceAll("    "+strings.TrimSuffix(text.String(), "\n"), "\n", "\n    ") + "\n")
	}
}

// writeUnread writes which sets were not read: those that are missing, and those that are not needed.
func writeUnread(b *strings.Builder, r *verify.VerifiedArchive) {
	b.WriteString(earlierText(r.Earlier))
	if len(r.Unread) == 0 {
		return
	}
	fmt.Fprintf(b, "Not read: sequence %s; the newest archive does not build on it, as far as the archives between them are present.\n", strings.Join(elements.Map(r.Unread, strconv.Itoa), ", "))
}

// earlierText returns what is in earlier sets whose folders were not named.
func earlierText(e *airgap.EarlierSets) string {
	if e == nil {
		return ""
	}
	what := "the content that it omits is there, its plan included"
	if !e.Plan {
		what = fmt.Sprintf("%s (%s) of its images%s there", Number(e.Content, "blob or manifest", "blobs and manifests"), progress.Bytes(e.Bytes), plural(e.Content, " is", " are"))
		bases := fmt.Sprintf("%s (%s) that deltas are based on", Number(e.Bases, "blob", "blobs"), progress.Bytes(e.BaseBytes))
		switch {
		case e.Bases > 0 && e.Content > 0:
			what = strings.TrimSuffix(what, plural(e.Content, " is", " are")+" there") + " and " + bases + " are there"
		case e.Bases > 0:
			what = bases + plural(e.Bases, " is", " are") + " there"
		}
	}
	return fmt.Sprintf("It builds on sequence %s, whose folder was not named: %s.\n", strings.Join(elements.Map(e.Sequences, strconv.Itoa), ", "), what)
}

// writeVerifiedProgram writes what is known of a program beside an archive.
func writeVerifiedProgram(b *strings.Builder, p program.AddedProgram) {
	fmt.Fprintf(b, "The program %s beside it has the SHA-256 %s. ", p.File, p.SHA256.Encoded())
	switch {
	case p.NoChecksum:
		fmt.Fprintf(b, "It has no checksum (%s.sha256) and no signature.\n", p.File)
	case p.Signature == nil:
		b.WriteString("It is not signed.\n")
	default:
		fmt.Fprintf(b, "It is signed %s.\n", Signed(*p.Signature))
	}
}
