package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/plan/admission"
)

// Replaced returns what clusters lose when catalogs of a destination are replaced, as a section of a plan; "" if
// they lose nothing.
func Replaced(all []admission.ReplacedCatalog) string {
	var b strings.Builder
	for i := range all {
		r := &all[i]
		if r.Problem == "" && len(r.Stranded) == 0 && !r.IsOlder() {
			continue
		}
		fmt.Fprintf(&b, "  %s at %s\n", r.Catalog, r.At)
		writeIf(&b, r.Problem != "", "    not compared: %s\n", r.Problem)
		for _, s := range r.Stranded {
			fmt.Fprintf(&b, "    %s: %s\n", outcomes[s.Outcome], s)
			writeFixes(&b, "      ", s.Fixes)
		}
		if r.OlderSource != nil {
			fmt.Fprintf(&b, "    OLDER: %s\n", r.OlderSource)
		}
		writeAll(&b, "    OLDER: %s\n", r.Older)
		writeIf(&b, r.IsOlder(), "      to replace newer content by older: gantry mirror --allow-older\n")
	}
	if b.Len() == 0 {
		return ""
	}
	return "Catalogs that are replaced\n" + b.String()
}
