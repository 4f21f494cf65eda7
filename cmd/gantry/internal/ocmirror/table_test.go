package ocmirror

import (
	"fmt"
	"strings"
)

// flagTable returns the table of all flags in the documentation, as Markdown.
func flagTable() string {
	var b strings.Builder
	b.WriteString("| flag | of | version | in Gantry |\n|---|---|---|---|\n")
	for i := range flags {
		f := &flags[i]
		of := "all"
		if f.Verbs != everyVerb {
			of = f.Verbs.String()
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.usage(), of, f.Versions, f.Becomes())
	}
	return b.String()
}

// formTable returns the table of commands in the documentation, as Markdown.
func formTable() string {
	var b strings.Builder
	b.WriteString("| oc mirror | Gantry |\n|---|---|\n")
	for _, f := range forms {
		own := "`" + f.gantry + "`"
		if f.verb == Delete {
			own = f.gantry
		}
		fmt.Fprintf(&b, "| `oc mirror %s` | %s |\n", strings.ReplaceAll(f.args, "|", "\\|"), strings.ReplaceAll(own, "|", "\\|"))
	}
	return b.String()
}
