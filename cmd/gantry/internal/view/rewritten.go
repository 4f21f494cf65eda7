package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/plan"
)

// writeRewritten writes which images get smaller indexes, and which keep their digests, by the reason.
func writeRewritten(b *strings.Builder, p *plan.Plan) {
	var rewritten []string
	kept := map[string][]string{}
	var reasons []string
	for _, img := range p.Images {
		switch {
		case img.RewrittenFrom != "":
			rewritten = append(rewritten, fmt.Sprintf("%s  becomes %s", img.Source, Short(img.Digest)))
		case img.NotRewritten != "":
			if kept[img.NotRewritten] == nil {
				reasons = append(reasons, img.NotRewritten)
			}
			line := img.Source
			if by := requiredBy(img.Reasons); by != "" {
				line += "\n      required by " + by
			}
			kept[img.NotRewritten] = append(kept[img.NotRewritten], line)
		}
	}
	list := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		b.WriteString(title + "\n")
		List(b, lines)
		b.WriteByte('\n')
	}
	list("Smaller indexes, with the selected platforms", rewritten)
	slices.Sort(reasons)
	for _, why := range reasons {
		list("Not rewritten, so mirrored with all platforms: "+why, kept[why])
	}
}
