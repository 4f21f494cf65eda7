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
	if g.Remembered > 0 {
		fmt.Fprintf(&b, " (%d in earlier runs)", g.Remembered)
	}
	if g.Refused > 0 {
		fmt.Fprintf(&b, ", %d refused", g.Refused)
	}
	if g.Failed > 0 {
		fmt.Fprintf(&b, ", %d not decided", g.Failed)
	}
	b.WriteString(".\n")
	return b.String()
}
