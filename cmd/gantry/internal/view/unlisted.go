package view

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// maxUnlisted is the number of images that writeUnlisted lists; JSON has all.
const maxUnlisted = 20

// writeUnlisted writes the images that bundles of a catalog use and do not list.
func writeUnlisted(b *strings.Builder, c plan.Catalog) {
	if len(c.Unlisted) == 0 {
		return
	}
	fmt.Fprintf(b, "  Images that bundles use and relatedImages does not list\n")
	for i, u := range c.Unlisted {
		if i == maxUnlisted {
			fmt.Fprintf(b, "    and %d more; -o json lists all\n", len(c.Unlisted)-i)
			break
		}
		fmt.Fprintf(b, "    %s  %s\n", u.Image, cmp.Or(textIf(u.Mirrored, "mirrored"), "NOT MIRRORED"))
		fmt.Fprintf(b, "      %s: %s\n", u.Bundle, strings.Join(u.Found, "; "))
		writeIf(b, u.ListedAs != "", "      relatedImages has it under another name: %s\n", u.ListedAs)
	}
	b.WriteByte('\n')
}
