package view

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/plan/cluster"
)

// writeNextSteps writes what the user does after a run: apply the cluster resources, or carry the
// archive and mirror from it.
func writeNextSteps(b *strings.Builder, r *mirroring.Result) {
	switch {
	case r.Report.Unfinished:
	case r.Shard != nil:
		writeShard(b, r)
	case r.Resources != nil && len(r.Resources.Files) > 0:
		writeApply(b, r.Resources)
	case r.Archive != nil && !r.Archive.Empty:
		writeCarry(b, r.Archive, r.Destination)
	}
}

// writeApply writes the command that applies the cluster resources, and what it does not apply.
func writeApply(b *strings.Builder, f *cluster.ResourceFiles) {
	if f.Applied == nil {
		return
	}
	var optional bool
	for _, l := range f.Applied.LeftOut {
		if l.Setting {
			continue // nothing of the mirror is missing
		}
		fmt.Fprintf(b, "Not applied: %s, which %s\n", l.Component, l.Reason)
		optional = optional || l.Optional
	}
	writeAll(b, "Not applied: %s, which the mirror has no content for\n", f.Applied.Missing)
	writeIf(b, optional, "  to apply it, add its name to --for %s\n", f.Applied.For)
	if len(f.Applied.Components) == 0 {
		fmt.Fprintf(b, "Nothing to apply for %s: there is no Kustomization.\n", f.Applied.For)
		return
	}
	program := cmp.Or(textIf(f.Applied.For == "kubernetes", "kubectl"), "oc")
	fmt.Fprintf(b, "To configure clusters:\n  %s apply -k %s\n", program, ShellWord(f.Dir))
}

// writeShard writes whether a shard is complete, and what to do when all are.
func writeShard(b *strings.Builder, r *mirroring.Result) {
	if !r.Shard.Complete() {
		fmt.Fprintf(b, "Shard %s is not complete: %s could not be copied. Run it again.\n", r.Shard.Shard, Number(r.Shard.Failed, "image", "images"))
		return
	}
	_, count, _ := strings.Cut(r.Shard.Shard, "/")
	fmt.Fprintf(b, "Shard %s is complete. Nothing is published yet; when all %s are, run this command once with --finish %s in place of --shard.\n", r.Shard.Shard, count, count)
}

// writeCarry writes the files of an archive and the command for the disconnected side.
func writeCarry(b *strings.Builder, r *airgap.ExportResult, destination string) {
	fmt.Fprintf(b, "Sequence %d at %s; carry all of these:\n", r.Sequence, destination)
	var rows []string
	var more string
	for _, f := range r.Files {
		rows = append(rows, fmt.Sprintf("  %s\t%s", f.Name, progress.Bytes(f.Size)))
		switch {
		case strings.HasSuffix(f.Name, ".json.sig"):
			more += " --verify-key KEY.pub"
		case strings.HasSuffix(f.Name, ".json.age"):
			more += " --identity KEY.txt"
		}
	}
	b.WriteString(align(0, append(rows, "  total\t"+progress.Bytes(r.Bytes))))
	fmt.Fprintf(b, "On the disconnected side, with the path of the folder there:\n  gantry mirror --from %s%s docker://MIRROR\n", ShellWord(destination), more)
}

// ShellWord returns a text as one word of a command line.
func ShellWord(text string) string {
	special := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_./:@%+=,-", r)
	}
	if text != "" && !strings.ContainsFunc(text, special) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
