package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// VerifiedLayout returns the result of verifying a layout as text.
func VerifiedLayout(r *verify.VerifiedLayout) string {
	var b strings.Builder
	writeIf(&b, r.Intact(), "The layout in %s is intact: %s, %s, every byte verified.\n", r.Layout, Number(r.Images, "image", "images"), progress.Bytes(r.Bytes))
	writeIf(&b, len(r.Damage) > 0, "Damaged in %s\n", r.Layout)
	for _, d := range r.Damage {
		fmt.Fprintf(&b, "  %s: %s\n", d.File, d.Problem)
		writeIf(&b, len(d.Images) == 0, "    no image uses it\n")
		writeBreaks(&b, d.Images)
	}
	section(&b, "Missing in "+r.Layout, elements.Map(r.Missing, func(m mirror.MissingImage) string { return plan.SourceText(m.Source) + "\n      " + m.Problem }))
	writeIf(&b, len(r.Broken) > 0, "%d of %d images are broken.\n", len(r.Broken), r.Images)
	writeIf(&b, len(r.AbsentChildren) > 0, "%s not present, as usual if only some platforms are mirrored; set -c, --plan or --from to check that.\n", Number(len(r.AbsentChildren), "platform of an index is", "platforms of indexes are"))
	return b.String()
}
