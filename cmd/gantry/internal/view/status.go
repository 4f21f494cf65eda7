package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// Status returns the last runs of a workspace as a table for a screen of this width, 0 is no limit, and
// the errors of those that failed.
func Status(s *workspace.StatusReport, width int) string {
	if len(s.Runs) == 0 {
		return fmt.Sprintf("Nothing was mirrored with the workspace %s.\n", s.Workspace)
	}
	var b strings.Builder
	b.WriteString(tabulate(width, "DESTINATION\tCONFIGURATION\tLAST RUN\tPLAN\tRESULT", elements.Map(s.Runs, func(r state.Run) string {
		at := cmp.Or(textIf(!r.Started.IsZero(), "%s", r.Started.UTC().Format(time.RFC3339)), "-")
		return strings.Join([]string{OneLine(cmp.Or(r.Destination, r.Mirror)), OneLine(cmp.Or(r.Name, "-")), at, cmp.Or(Short(r.Plan), "-"), runResult(r)}, "\t")
	}), "PLAN", "LAST RUN"))
	for _, r := range s.Runs {
		how := cmp.Or(textIf(r.Result == state.RunPartial, "is partial"), "failed")
		writeIf(&b, r.Message != "", "\n%s %s:\n  %s\n", OneLine(r.Destination), how, strings.ReplaceAll(r.Message, "\n", "\n  "))
	}
	return Trimmed(b.String())
}

// runResult describes how a run ended.
func runResult(r state.Run) string {
	var text string
	if r.Repair {
		return repairResult(r)
	}
	switch r.Result {
	case state.RunComplete:
		text = fmt.Sprintf("complete: %s, %d copied", Number(r.Images, "image", "images"), r.Copied)
	case state.RunPartial:
		if r.Failed == 0 && r.Message != "" { // everything was mirrored
			text = fmt.Sprintf("PARTIAL: %s, %d copied, not pruned completely", Number(r.Images, "image", "images"), r.Copied)
			break
		}
		text = fmt.Sprintf("PARTIAL: %d of %s unavailable", r.Failed, Number(r.Images, "image is", "images are"))
	case state.RunFailed:
		text = "FAILED"
	case state.RunInterrupted:
		text = "INTERRUPTED: run the same command again to continue"
	case state.RunStarted:
		text = "not ended: it is running, or it was killed"
	default:
		text = "not recorded"
	}
	return textIf(r.Sequence > 0, "sequence %d, ", r.Sequence) + text
}

// repairResult describes how a run ended that wrote the repair of an archive.
func repairResult(r state.Run) string {
	content := fmt.Sprintf("%d of %s", r.Copied, Number(r.Images, "manifest or blob", "manifests and blobs"))
	text := fmt.Sprintf("repair of sequence %d, ", r.Sequence)
	switch r.Result {
	case state.RunComplete:
		return text + "complete: " + content + " copied"
	case state.RunInterrupted:
		return text + "INTERRUPTED: run the same command again to continue"
	case state.RunStarted:
		return text + "not ended: it is running, or it was killed"
	}
	return text + "FAILED" + textIf(r.Failed > 0, ": the sources do not have %d of %s", r.Failed, Number(r.Images, "manifest or blob", "manifests and blobs"))
}
