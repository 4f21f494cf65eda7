package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/authoring"
)

// Filtered describes what was kept of each catalog, for a screen of this width; 0 is no limit.
func Filtered(r *authoring.FilterResult, width int) string {
	var b strings.Builder
	var catalogs []string
	for _, c := range r.Catalogs {
		catalogs = append(catalogs, c.Catalog.Name())
		fmt.Fprintf(&b, "Catalog %s\n  written to %s\n\n", c.Catalog.Name(), c.Folder)
		writeKept(&b, c.Catalog, nil, width)
	}
	writeNotes(&b, r.Notes, 0, catalogs)
	fmt.Fprintf(&b, "Images   %d\n", len(r.Images))
	return b.String()
}
