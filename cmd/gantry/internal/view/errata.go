package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/plan/planning"
)

// Errata returns the errata of a plan as text, or "" if they were not read.
func Errata(e *planning.Errata) string {
	if e == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nErrata\n")
	var lines []string
	for _, r := range e.Releases {
		lines = append(lines, fmt.Sprintf("release %s  %s", r.Release, OneLine(r.URL)))
	}
	for _, img := range e.Images {
		line := OneLine(img.Image)
		for _, text := range []string{strings.Join(img.Errata, ", "), img.Build, img.URL} {
			if text != "" {
				line += "\n      " + OneLine(text)
			}
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		fmt.Fprintf(&b, "  no release, and none of %s, names a build or an erratum\n", Number(e.Read, "image", "images"))
		return b.String()
	}
	List(&b, lines)
	return b.String()
}
