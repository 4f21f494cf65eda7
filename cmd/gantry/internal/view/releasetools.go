package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/mirror/releases"
)

// ReleaseTools returns the tools that a release has, with the platforms of each.
func ReleaseTools(l *releases.ReleaseToolList, width int) string {
	var b strings.Builder
	t := newTable(&b, width)
	fmt.Fprintf(t, "NAME\tPLATFORMS\n")
	for i := 0; i < len(l.Tools); {
		name := l.Tools[i].Name
		var platforms []string
		for ; i < len(l.Tools) && l.Tools[i].Name == name; i++ {
			platforms = append(platforms, l.Tools[i].Platform)
		}
		fmt.Fprintf(t, "%s\t%s\n", name, strings.Join(platforms, ", "))
	}
	_ = t.Flush() // to memory
	return b.String()
}

// ToolSums returns the checksums of the files that were written, as sha256sum prints them.
func ToolSums(l *releases.ReleaseToolList) string {
	var b strings.Builder
	for _, t := range l.Tools {
		fmt.Fprintf(&b, "%s  %s\n", t.Digest.Encoded(), t.File)
	}
	return b.String()
}

// BootImages returns the files that machines boot from.
func BootImages(l *releases.BootImageList, width int) string {
	if len(l.BootImages) == 0 {
		return fmt.Sprintf("release %s lists no boot images\n", l.Release)
	}
	var b strings.Builder
	t := newTable(&b, width)
	fmt.Fprintf(t, "KIND\tARCH\tPART\tADDRESS\n")
	for _, i := range l.BootImages {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", i.Kind, i.Arch, i.Part, OneLine(i.Address))
	}
	_ = t.Flush() // to memory
	return b.String()
}
