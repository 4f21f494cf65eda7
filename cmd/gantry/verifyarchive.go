package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/gantry-mirror/gantry/carry"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/sshsig"
)

// verifiedArchive is what gantry verify --output json prints of an archive.
type verifiedArchive struct {
	Version int    `json:"version"`
	Archive string `json:"archive"`
	// Signature is who signed it; nil where nobody did.
	Signature *sshsig.Verdict `json:"signature,omitempty"`
	// Bytes is the size of all volumes together.
	Bytes int64 `json:"bytes"`
	*carry.Condition
}

func (a *app) verifyArchive(ctx context.Context, dirs []string, trust *trustFlags) error {
	have, err := a.inspectArchive(trust, dirs...)
	if err != nil {
		return err
	}
	defer func() { _ = have.Close() }() // only read from
	damage, err := a.readAll(ctx, have)
	if err != nil {
		return err
	}
	result := &verifiedArchive{Version: 1, Archive: fileScheme + strings.Join(dirs, ", "+fileScheme), Signature: signatureOf(have), Bytes: have.Size()}
	if result.Condition, err = carry.Assess(ctx, have, dirs, damage); err != nil {
		return err
	}
	if a.output == outputJSON {
		err = a.encode(result)
	} else {
		err = a.text(result.table())
	}
	if err == nil && !result.Whole() {
		err = &hintError{&mismatchError{fmt.Sprintf("the archive in %s is damaged", strings.Join(dirs, ", "))}, ": ", "bring the files that are named again, or ask for what is lost with gantry archive repair-request"}
	}
	return err
}

func (r *verifiedArchive) table() string {
	var b strings.Builder
	if r.Signature != nil {
		text := signedText(*r.Signature)
		b.WriteString(strings.ToUpper(text[:1]) + text[1:] + ".\n")
	}
	if len(r.Damage) == 0 {
		images := fmt.Sprintf("%d images, ", r.Images)
		if r.Earlier != nil && r.Earlier.Plan || r.Locked {
			images = ""
		}
		fmt.Fprintf(&b, "The archive in %s is whole: %s%s, every byte as it was written.\n", r.Archive, images, progress.Bytes(r.Bytes))
		if r.Locked {
			b.WriteString("It is encrypted: what it holds is not known without --identity.\n")
		}
		r.writeRest(&b)
		return b.String()
	}
	fmt.Fprintf(&b, "Damaged in %s\n", r.Archive)
	for _, d := range r.Damage {
		b.WriteString("  " + d.Text)
		if d.Healed && !r.Whole() {
			b.WriteString(" (it is sound elsewhere)")
		}
		b.WriteString("\n")
		if len(d.Breaks) > 0 {
			b.WriteString("    breaks\n")
			var names strings.Builder
			list(&names, d.Breaks)
			b.WriteString(strings.ReplaceAll("    "+strings.TrimSuffix(names.String(), "\n"), "\n", "\n    ") + "\n")
		}
	}
	switch {
	case r.Whole():
		b.WriteString("Nothing is lost: what is damaged is sound in a repair or another copy.\n")
	case r.Locked:
		b.WriteString("It is encrypted: which images that breaks is not known without --identity.\n")
	case r.PlanLost:
		b.WriteString("Which images that breaks is not known, since the plan in the archive is lost, too.\n")
	case r.Earlier != nil && r.Earlier.Plan:
		b.WriteString("Which images that breaks is not known here, since an archive that was carried before has the plan.\n")
	default:
		fmt.Fprintf(&b, "%d of %d images are broken.\n", len(r.Broken), r.Images)
	}
	r.writeRest(&b)
	return b.String()
}

// writeRest says what was not read: sets that are not here, and those that are of no use.
func (r *verifiedArchive) writeRest(b *strings.Builder) {
	b.WriteString(earlierText(r.Earlier))
	if len(r.Unread) == 0 {
		return
	}
	var names []string
	for _, n := range r.Unread {
		names = append(names, strconv.Itoa(n))
	}
	fmt.Fprintf(b, "Not read: sequence %s, which is here but not among what the newest builds on, as far as the archives between them are here.\n", strings.Join(names, ", "))
}

// earlierText says what is in sets that are not here.
func earlierText(e *carry.Earlier) string {
	if e == nil {
		return ""
	}
	var names []string
	for _, n := range e.Sequences {
		names = append(names, strconv.Itoa(n))
	}
	what := "what it leaves out, its plan included, is theirs"
	if !e.Plan {
		what = fmt.Sprintf("%d blobs and manifests (%s) of its images are theirs", e.Content, progress.Bytes(e.Bytes))
	}
	return fmt.Sprintf("It builds on sequence %s, carried before and not here: %s.\n", strings.Join(names, ", "), what)
}
