package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// Features returns declared features as text: "disconnected, proxy-aware, not fips-compliant".
func Features(supported, unsupported []string) string {
	return strings.Join(slices.Concat(supported, elements.Map(unsupported, func(name string) string { return "not " + name })), ", ")
}

// maxFeatures is the number of operators that writeFeatures lists.
const maxFeatures = 20

// writeFeatures writes the features that the operators of a catalog declare.
func writeFeatures(b *strings.Builder, c plan.Catalog, width int) {
	if len(c.Features) == 0 {
		return
	}
	fmt.Fprintf(b, "  Features that operators declare\n")
	shown := c.Features[:min(len(c.Features), maxFeatures)]
	rows := elements.Map(shown, func(f plan.DeclaredFeatures) string {
		return "    " + f.Bundle + "\t" + Features(f.Supported, f.Unsupported)
	})
	b.WriteString(align(width, rows))
	writeIf(b, len(shown) < len(c.Features), "    and %d more; gantry list packages -o wide lists all\n", len(c.Features)-len(shown))
	b.WriteByte('\n')
}
