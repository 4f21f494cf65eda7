package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// DeletionList returns what can be deleted from a mirror, what stays, and how to delete it: with this
// command, which takes the list and the mirror.
func DeletionList(l *removal.DeletionList, command string) string {
	var b strings.Builder
	if len(l.Images) == 0 {
		fmt.Fprintf(&b, "Nothing to delete from %s.\n", l.Mirror)
	} else {
		fmt.Fprintf(&b, "Selected in %s: %s, %s that nothing else needs.\n\n", l.Mirror, Number(len(l.Images), "image", "images"), progress.Bytes(l.Bytes))
		var lines []string
		for _, img := range l.Images {
			lines = append(lines, OneLine(img.Image))
		}
		List(&b, lines)
	}
	section := func(title string, lines []string) {
		if len(lines) > 0 {
			b.WriteString("\n" + title + ":\n")
			List(&b, lines)
		}
	}
	var lines []string
	for _, s := range l.Stays {
		lines = append(lines, OneLine(s.Image+": "+s.Reason))
	}
	section("Named, but kept", lines)
	section("Not in the mirror", oneLines(l.Absent))
	section("Not found", oneLines(l.Unmatched))
	fmt.Fprintf(&b, "\nThe list is in %s.\n", l.File)
	if len(l.Images) > 0 {
		fmt.Fprintf(&b, "\nNothing was deleted. To delete it: %s %s %s\nRemove it from %s %s, too:\nuntil then, each run mirrors it again.\n",
			command, l.File, l.Mirror, plural(len(l.ImageSets), "the configuration of the image set", "the configurations of the image sets"), OneLine(strings.Join(l.ImageSets, ", ")))
	}
	return b.String()
}

func oneLines(texts []string) []string {
	var lines []string
	for _, text := range texts {
		lines = append(lines, OneLine(text))
	}
	return lines
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
