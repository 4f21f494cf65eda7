package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// VerifiedLayout returns the result of verifying a layout as text.
func VerifiedLayout(r *verify.VerifiedLayout) string {
	var b strings.Builder
	if r.Intact() {
		fmt.Fprintf(&b, "The layout in %s is intact: %s, %s, every byte verified.\n", r.Layout, Number(r.Images, "image", "images"), progress.Bytes(r.Bytes))
	}
	if len(r.Damage) > 0 {
		fmt.Fprintf(&b, "Damaged in %s\n", r.Layout)
	}
	for _, d := range r.Damage {
		fmt.Fprintf(&b, "  %s: %s\n", d.File, d.Problem)
		if len(d.Images) == 0 {
			b.WriteString("    no image uses it\n")
			continue
		}
		b.WriteString("    breaks\n")
		var names strings.Builder
		List(&names, d.Images)
		b.WriteString(strings.ReplaceAll("    "+strings.TrimSuffix(names.String(), "\n"), "\n", "\n    ") + "\n")
	}
	if len(r.Missing) > 0 {
		fmt.Fprintf(&b, "Missing in %s\n", r.Layout)
		var lines []string
		for _, l := range r.Missing {
			lines = append(lines, plan.SourceText(l.Source)+"\n      "+l.Problem)
		}
		List(&b, lines)
	}
	if n := len(r.Broken); n > 0 {
		fmt.Fprintf(&b, "%d of %d images are broken.\n", n, r.Images)
	}
	if n := len(r.AbsentChildren); n > 0 {
		fmt.Fprintf(&b, "%s not present, as usual if only some platforms are mirrored; set -c, --plan or --from to check that.\n", Number(n, "platform of an index is", "platforms of indexes are"))
	}
	return b.String()
}
