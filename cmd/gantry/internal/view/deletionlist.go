package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/pkg/elements"
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
		List(&b, elements.Map(l.Images, func(img removal.DeletedImage) string { return OneLine(img.Image) }))
	}
	section(&b, "\nNamed, but kept:", elements.Map(l.Stays, staying))
	section(&b, "\nNot in the mirror:", elements.Map(l.Absent, OneLine))
	section(&b, "\nNot found:", elements.Map(l.Unmatched, OneLine))
	fmt.Fprintf(&b, "\nThe list is in %s.\n", l.File)
	if len(l.Images) > 0 {
		fmt.Fprintf(&b, "\nRemove it from %s, too:\nuntil then, each run mirrors it again.\nNothing was deleted. To delete it:\n  %s %s %s\n",
			configurationsOf(l.ImageSets), command, ShellWord(l.File), l.Mirror)
	}
	return b.String()
}

// staying returns an image that is not deleted, and why.
func staying(s removal.StayingImage) string { return OneLine(s.Image + ": " + s.Reason) }

// configurationsOf names the configurations of image sets.
func configurationsOf(sets []string) string {
	return plural(len(sets), "the configuration of the image set", "the configurations of the image sets") + " " + OneLine(strings.Join(sets, ", "))
}
