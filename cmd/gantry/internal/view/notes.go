package view

import (
	"slices"
	"strings"
)

// writeNotes writes notes, those of each catalog together, and how many others are known. A note of a catalog begins with
// its name.
func writeNotes(b *strings.Builder, notes []string, known int, catalogs []string) {
	if len(notes)+known == 0 {
		return
	}
	b.WriteString("Notes\n")
	of := map[string][]string{}
	for _, note := range notes {
		name, rest := "", note
		for _, c := range catalogs {
			if after, ok := strings.CutPrefix(note, c+": "); ok && len(c) > len(name) {
				name, rest = c, after
			}
		}
		of[name] = append(of[name], rest)
	}
	writeAll(b, "  %s\n", of[""])
	slices.Sort(catalogs)
	for _, c := range slices.Compact(catalogs) {
		writeIf(b, len(of[c]) > 0, "  %s\n", c)
		writeAll(b, "    %s\n", of[c])
	}
	writeIf(b, known > 0, "  %s of the last plan %s not repeated; -v prints all\n", Number(known, "note", "notes"), plural(known, "is", "are"))
	b.WriteByte('\n')
}
