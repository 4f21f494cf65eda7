package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/mirror/releases"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// ReleaseInfo returns what a release image says.
func ReleaseInfo(r *releases.ReleaseInfo, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Release %s for %s\n", r.Release, r.Arch)
	fmt.Fprintf(&b, "  image    %s\n", OneLine(r.Source))
	fmt.Fprintf(&b, "  digest   %s\n", r.Digest)
	writeIf(&b, r.URL != "", "  erratum  %s\n", OneLine(r.URL))
	for _, s := range r.Software {
		fmt.Fprintf(&b, "  %s %s\n", OneLine(s.Name+textIf(s.Display != "", " (%s)", s.Display)), s.Version)
	}
	writeNames(&b, "\nUpdates from", "  ", r.Previous)
	writeNames(&b, "\nUpdates to", "  ", r.Next)
	for _, g := range r.Gates {
		fmt.Fprintf(&b, "\nTo acknowledge before an update from %s\n  %s\n", g.Minor, OneLine(g.Name))
		writeWrapped(&b, "    ", g.Message)
		fmt.Fprintf(&b, "    %s\n", OneLine(g.Command))
	}
	fmt.Fprintf(&b, "\n%s\n", Number(r.Manifests, "manifest", "manifests"))
	writeNames(&b, "  capabilities", "    ", r.Capabilities)
	writeNames(&b, "  profiles", "    ", r.Profiles)
	writeNames(&b, "  feature sets", "    ", r.FeatureSets)
	fmt.Fprintf(&b, "\n%s\n", Number(len(r.Images), "image", "images"))
	writeImages(&b, r.Images, width)
	return b.String()
}

// writeNames writes names below a title, if there are any.
func writeNames(b *strings.Builder, title, indent string, names []string) {
	writeIf(b, len(names) > 0, "%s\n", title)
	writeWrapped(b, indent, strings.Join(names, ", "))
}

// ReleaseImages returns the images of a release: with one complete name, only its reference.
func ReleaseImages(l *releases.ReleaseImageList, patterns []string, width int) string {
	if len(patterns) == 1 && len(l.Images) == 1 && l.Images[0].Name == patterns[0] {
		return l.Images[0].Image + "\n"
	}
	var b strings.Builder
	writeImages(&b, l.Images, width)
	return b.String()
}

func writeImages(b *strings.Builder, images []releases.ReleaseImage, width int) {
	b.WriteString(tabulate(width, "  NAME\tIMAGE", elements.Map(images, func(i releases.ReleaseImage) string { return "  " + OneLine(i.Name) + "\t" + i.Image })))
}
