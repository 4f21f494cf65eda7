package planpage

import (
	"cmp"
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/page"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// An Earlier is a plan that was mirrored or carried before. Name says which: "revision 3".
type Earlier struct {
	Name string
	Plan *plan.Outline
}

// MaxEarlier is how many earlier plans pages compare with: those of a year of monthly runs.
const MaxEarlier = 12

// PrunedVersions lists the bundles and releases of earlier plans, the newest first, that a plan no longer has. There is no
// table if there are none.
func PrunedVersions(now *plan.Outline, earlier []Earlier) (tables []page.Table) {
	t := page.Table{Caption: "Versions that are no longer mirrored", Columns: Columns("Version", "Package", "Last in")}
	seen := map[plan.MirroredVersion]bool{}
	for _, v := range now.Versions() {
		seen[v] = true
	}
	gone := 0
	for _, e := range earlier {
		for _, v := range e.Plan.Versions() {
			if seen[v] {
				continue
			}
			seen[v] = true
			if gone++; gone <= maxChanges {
				t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: v.Name}, {Text: cmp.Or(v.Package, "platform release")}, {Text: e.Name}}})
			}
		}
	}
	if gone > maxChanges {
		t.Caption += fmt.Sprintf(": the first %d of %d", maxChanges, gone)
	}
	if gone == 0 {
		return nil
	}
	return []page.Table{t}
}
