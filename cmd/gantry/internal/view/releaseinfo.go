package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/mirror/releases"
)

// ReleaseInfo returns what a release image says.
func ReleaseInfo(r *releases.ReleaseInfo, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Release %s for %s\n", r.Release, r.Arch)
	fmt.Fprintf(&b, "  image    %s\n", OneLine(r.Source))
	fmt.Fprintf(&b, "  digest   %s\n", r.Digest)
	writeIf(&b, r.URL != "", "  erratum  %s\n", OneLine(r.URL))
	for _, s := range r.Software {
		name := s.Name
		if s.Display != "" {
			name = fmt.Sprintf("%s (%s)", name, s.Display)
		}
		fmt.Fprintf(&b, "  %s %s\n", OneLine(name), s.Version)
	}
	if len(r.Previous) > 0 {
		b.WriteString("\nUpdates from\n")
		writeWrapped(&b, "  ", strings.Join(r.Previous, ", "))
	}
	if len(r.Next) > 0 {
		b.WriteString("\nUpdates to\n")
		writeWrapped(&b, "  ", strings.Join(r.Next, ", "))
	}
	for _, g := range r.Gates {
		fmt.Fprintf(&b, "\nTo acknowledge before an update from %s\n  %s\n", g.Minor, OneLine(g.Name))
		writeWrapped(&b, "    ", g.Message)
		fmt.Fprintf(&b, "    %s\n", OneLine(g.Command))
	}
	fmt.Fprintf(&b, "\n%s\n", Number(r.Manifests, "manifest", "manifests"))
	for _, l := range []struct {
		title string
		names []string
	}{{"capabilities", r.Capabilities}, {"profiles", r.Profiles}, {"feature sets", r.FeatureSets}} {
		if len(l.names) > 0 {
			fmt.Fprintf(&b, "  %s\n", l.title)
			writeWrapped(&b, "    ", strings.Join(l.names, ", "))
		}
	}
	fmt.Fprintf(&b, "\n%s\n", Number(len(r.Images), "image", "images"))
	writeImages(&b, r.Images, width)
	return b.String()
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
	b.WriteString(tabulate(width, "  NAME\tIMAGE", each(images, func(i releases.ReleaseImage) string { return "  " + OneLine(i.Name) + "\t" + i.Image })))
}
