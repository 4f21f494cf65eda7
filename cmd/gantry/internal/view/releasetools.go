package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/mirror/releases"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// ReleaseTools returns the tools that a release has, with the platforms of each.
func ReleaseTools(l *releases.ReleaseToolList, width int) string {
	var platforms grouped[string, string]
	for _, t := range l.Tools {
		platforms.add(t.Name, t.Platform)
	}
	return tabulate(width, "NAME\tPLATFORMS", elements.Map(platforms.keys, func(name string) string {
		return name + "\t" + strings.Join(platforms.of[name], ", ")
	}))
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
	return tabulate(width, "KIND\tARCH\tPART\tADDRESS", elements.Map(l.BootImages, func(i releases.BootImage) string {
		return fmt.Sprintf("%s\t%s\t%s\t%s", i.Kind, i.Arch, i.Part, OneLine(i.Address))
	}))
}
