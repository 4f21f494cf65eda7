package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// Features returns declared features as text: "disconnected, proxy-aware, not fips-compliant".
func Features(supported, unsupported []string) string {
	return strings.Join(slices.Concat(supported, each(unsupported, func(name string) string { return "not " + name })), ", ")
}

// maxFeatures is the number of operators that writeFeatures lists.
const maxFeatures = 20

// writeFeatures writes the features that the operators of a catalog declare.
func writeFeatures(b *strings.Builder, c plan.Catalog) {
	if len(c.Features) == 0 {
		return
	}
	fmt.Fprintf(b, "  Features that operators declare\n")
	for i, f := range c.Features {
		if i == maxFeatures {
			fmt.Fprintf(b, "    and %d more; gantry list operators -o wide lists all\n", len(c.Features)-i)
			break
		}
		fmt.Fprintf(b, "    %s  %s\n", f.Bundle, Features(f.Supported, f.Unsupported))
	}
	b.WriteByte('\n')
}
