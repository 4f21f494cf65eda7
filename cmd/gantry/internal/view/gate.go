package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/plan/gates"
)

// Gate returns what a gate decided about images as text, or "" if it was not asked.
func Gate(g *gates.GateResult) string {
	if g == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Gate %s: %s accepted", g.Program, Number(g.Accepted, "image", "images"))
	writeIf(&b, g.Remembered > 0, " (%d in earlier runs)", g.Remembered)
	writeIf(&b, g.Refused > 0, ", %d refused", g.Refused)
	writeIf(&b, g.Failed > 0, ", %d not decided", g.Failed)
	b.WriteString(".\n")
	return b.String()
}
