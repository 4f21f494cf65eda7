package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/plan/planning"
)

// Errata returns the errata of a plan as text, or "" if they were not read.
func Errata(e *planning.Errata) string {
	if e == nil {
		return ""
	}
	var b strings.Builder
	lines := elements.Map(e.Releases, func(r planning.ReleaseErratum) string {
		return fmt.Sprintf("release %s  %s", r.Release, OneLine(r.URL))
	})
	for _, img := range e.Images {
		line := OneLine(img.Image)
		for _, text := range []string{strings.Join(img.Errata, ", "), img.Build, img.URL} {
			line += textIf(text != "", "\n      %s", OneLine(text))
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		lines = []string{fmt.Sprintf("no release, and none of %s, names a build or an erratum", Number(e.Read, "image", "images"))}
	}
	section(&b, "\nErrata", lines)
	return b.String()
}
