package view

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/mirror/extract"
	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/pull"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/site"
)

// writePlannedFiles writes the files of a plan.
func writePlannedFiles(b *strings.Builder, p *plan.Plan) {
	paragraph(b, "Files", elements.Map(p.Files, func(f plan.File) string {
		return fmt.Sprintf("%s  from %s  %s  %s", f.Name, f.Origin, progress.Bytes(f.Size), Short(f.SHA256))
	}))
}

// writeFiles writes how the files that were mirrored are fetched. flags are those that gantry get needs.
func writeFiles(b *strings.Builder, r *mirroring.Result, flags []string) {
	section(b, "Files:", elements.Map(r.Files, func(f site.MirroredFile) string {
		words := slices.Concat([]string{"gantry", "get", r.Destination, f.Name, "--to", "FILE"}, flags)
		return strings.Join(elements.Map(words, ShellWord), " ")
	}))
}

// writeProgram writes which program is beside an archive.
func writeProgram(b *strings.Builder, r *mirroring.Result) {
	if p := r.Program; p != nil {
		more := textIf(p.Signature != nil, " and %s.sha256.sig", p.File)
		fmt.Fprintf(b, "Carry this program for %s, too: %s (%s), with %s.sha256%s.\n", p.Platform, p.File, progress.Bytes(p.Size), p.File, more)
	}
}

// Files returns a list of files as a table for a screen of this width; 0 is no limit. NAME is what gantry
// pull is given.
func Files(l *pull.FileList, width int) string {
	if len(l.Files) == 0 {
		return OneLine(l.From) + " has no files.\n"
	}
	return tabulate(width, "NAME\tSIZE\tSHA256", elements.Map(l.Files, func(f pull.StoredFile) string {
		name := f.Name
		name += textIf(f.Older, "@%s", Short(f.SHA256))
		return fmt.Sprintf("%s\t%s\t%s", name, progress.Bytes(f.Size), f.SHA256.Encoded())
	}), "SHA256")
}

// PulledFile returns what was written.
func PulledFile(f pull.PulledFile) string {
	return fmt.Sprintf("%s%s %s, %s, %s\n", f.To, cmp.Or(textIf(f.Present, " is already"), ":"), f.Name, progress.Bytes(f.Size), f.SHA256)
}

// ExtractedFiles returns what was written to a folder.
func ExtractedFiles(r *extract.ExtractedFiles) string {
	if len(r.Files)+len(r.Tools)+len(r.Earlier) == 0 {
		return "The archive has no files.\n"
	}
	var b strings.Builder
	for _, f := range r.Files {
		b.WriteString(PulledFile(f))
	}
	for _, t := range r.Tools {
		to := filepath.Join(r.To, t.File)
		fmt.Fprintf(&b, "%s: %s for %s, %s, %s\n", to, OneLine(t.Name), t.Platform, progress.Bytes(t.Size), t.Digest)
	}
	return b.String()
}
