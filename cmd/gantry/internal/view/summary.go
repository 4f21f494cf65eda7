package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// maxSummarized is how many lines a list of a summary has.
const maxSummarized = 100

// Summary returns a run as Markdown, for tickets. message is its error with the remedy, or "".
func Summary(s *mirroring.RunSummary, message string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s to %s: %s\n\n", code(cmp.Or(s.Name, "-")), code(redact.Address(s.Destination)), s.Run.Result)
	writeIf(&b, message != "", "%s\n\n", code(redact.Text(message)))
	writeSummaryTable(&b, s)
	writeChanges(&b, s)
	if s.Result != nil && s.Result.Report != nil {
		writeList(&b, "Not mirrored", Failures(s.Result.Report))
	}
	writeList(&b, "Warnings", s.Warnings)
	if s.Result != nil && s.Result.Report != nil {
		var next strings.Builder
		writeNextSteps(&next, s.Result)
		if text := strings.TrimSpace(next.String()); text != "" {
			fmt.Fprintf(&b, "## Next step\n\n%s\n", block(text))
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func writeSummaryTable(b *strings.Builder, s *mirroring.RunSummary) {
	b.WriteString("| | |\n|---|---|\n")
	row := func(name, format string, args ...any) {
		fmt.Fprintf(b, "| %s | %s |\n", name, fmt.Sprintf(format, args...))
	}
	row("Began", "%s", s.Started.UTC().Format(time.RFC3339))
	row("Duration", "%s", max(0, s.Ended.Sub(s.Started)).Round(time.Second))
	if s.Run.Result != state.RunComplete && !s.LastSuccess.IsZero() {
		row("Last complete run", "%s", s.LastSuccess.UTC().Format(time.RFC3339))
	}
	if r := s.Result; r != nil && r.Report != nil {
		row("Images", "%d: %d copied, %d already present, %d failed", r.Report.Images, r.Report.Copied, r.Report.Present, len(r.Report.Failed))
		row("Copied", "%s in %s", progress.Bytes(r.Report.BytesCopied), Number(r.Report.BlobsCopied, "blob", "blobs"))
		if r.PlanDigest != "" {
			row("Plan", "%s", code(r.PlanDigest.String()))
		}
		if r.Archive != nil {
			row("Archive", "sequence %d", r.Archive.Sequence)
		}
		if v := r.Verified; v != nil {
			row("Signatures", "%d verified, %d accepted without verification, %d refused", v.Verified, v.Unsigned, v.Refused)
		}
	}
	if s.Repair {
		row("Repair", "sequence %d: %s requested, %d copied", s.Sequence, Number(s.Images, "manifest or blob", "manifests and blobs"), s.Copied)
	}
	if r := s.Result; r != nil && r.Repaired != nil {
		row("Size", "%s", progress.Bytes(r.Repaired.Bytes))
	}
	if s.Retries > 0 {
		row("Repeated requests", "%d", s.Retries)
	}
	b.WriteByte('\n')
}

// writeChanges writes what is new and what was removed since the previous plan.
func writeChanges(b *strings.Builder, s *mirroring.RunSummary) {
	if !s.Compared {
		return
	}
	b.WriteString("## Changes since the previous plan\n\n")
	if len(s.Versions)+len(s.AddedReleases)+len(s.RemovedReleases) == 0 {
		b.WriteString("No package and no release has other versions.\n\n")
		return
	}
	if len(s.Versions) > 0 {
		b.WriteString("| Catalog | Package | New | Removed |\n|---|---|---|---|\n")
		for i, c := range s.Versions {
			if i == maxSummarized {
				fmt.Fprintf(b, "\nand %s.\n", Number(len(s.Versions)-i, "more package", "more packages"))
				break
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", code(c.Catalog), code(c.Package), versionList(c.Added), versionList(c.Removed))
		}
		b.WriteByte('\n')
	}
	for _, name := range s.AddedReleases {
		fmt.Fprintf(b, "- new release: %s%s\n", code(name), textIf(s.Errata[name] != "", ", erratum %s", code(s.Errata[name])))
	}
	writeAll(b, "- release no longer selected: %s\n", elements.Map(s.RemovedReleases, code))
	writeIf(b, len(s.AddedReleases)+len(s.RemovedReleases) > 0, "\n")
}

// writeList writes texts as a list below a heading, if there are any.
func writeList(b *strings.Builder, heading string, texts []string) {
	if len(texts) == 0 {
		return
	}
	fmt.Fprintf(b, "## %s\n\n", heading)
	for i, text := range texts {
		if i == maxSummarized {
			fmt.Fprintf(b, "- and %d more\n", len(texts)-i)
			break
		}
		fmt.Fprintf(b, "- %s\n", code(redact.Text(text)))
	}
	b.WriteByte('\n')
}

// versionList returns at most 20 versions.
func versionList(all []string) string {
	if len(all) == 0 {
		return "-"
	}
	shown := all[:min(len(all), 20)]
	return code(strings.Join(shown, ", ")) + textIf(len(all) > len(shown), " and %d more", len(all)-len(shown))
}

// code returns text from outside so that Markdown shows it as it is, in one line, also in a table.
func code(text string) string {
	return "`" + strings.NewReplacer("`", "'", "|", "/").Replace(OneLine(text)) + "`"
}

// block returns lines as a block of code.
func block(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.ReplaceAll(Printable(strings.TrimRight(line, "\n")), "```", "~~~") + "\n")
	}
	return "```\n" + b.String() + "```\n"
}
