package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/config"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// ConfigCheck returns a line for each problem and warning of the configurations, and for each file that
// is valid.
func ConfigCheck(c *config.Checked) string {
	var b strings.Builder
	for _, f := range c.Files {
		writeConfigProblems(&b, f.File, "", f.Problems)
		writeConfigProblems(&b, f.File, "warning: ", f.Warnings)
		switch n := len(f.Warnings); {
		case !f.OK:
		case n == 0:
			fmt.Fprintf(&b, "%s: ok\n", f.File)
		default:
			fmt.Fprintf(&b, "%s: ok, with %s\n", f.File, Number(n, "warning", "warnings"))
		}
	}
	return b.String()
}

func writeConfigProblems(b *strings.Builder, file, label string, problems []selection.ConfigProblem) {
	for _, p := range problems {
		fmt.Fprintf(b, "%s%s: %s%s\n", file, textIf(p.Line > 0, ":%d", p.Line)+textIf(p.Line > 0 && p.Column > 0, ":%d", p.Column), label, joined("; ", p.Message, p.Hint))
	}
}
