package view

import (
	"fmt"

	"github.com/gantry-mirror/gantry/plan/gates"
)

// Gate returns what a gate decided about images as text, or "" if it was not asked.
func Gate(g *gates.GateResult) string {
	if g == nil {
		return ""
	}
	return fmt.Sprintf("Gate %s: %s accepted", g.Program, Number(g.Accepted, "image", "images")) +
		textIf(g.Remembered > 0, " (%d in earlier runs)", g.Remembered) +
		textIf(g.Refused > 0, ", %d refused", g.Refused) +
		textIf(g.Failed > 0, ", %d not decided", g.Failed) + ".\n"
}
