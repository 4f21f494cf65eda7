package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/gantry-mirror/gantry"
)

// CatalogListing returns a listing as a table: of packages, or of the bundles of one package, for a
// screen of this width; 0 is no limit.
func CatalogListing(l *gantry.CatalogListing, bundles bool, width int) string {
	var rows strings.Builder
	t := newTable(&rows, width)
	if bundles {
		writeBundles(t, l.Packages[0])
	} else {
		writePackages(t, l.Packages)
	}
	_ = t.Flush() // into memory
	return Trimmed(rows.String())
}

func writeBundles(t io.Writer, p gantry.ListedOperator) {
	fmt.Fprintf(t, "PACKAGE\tCHANNEL\tBUNDLE\tVERSION\t\n")
	for _, c := range p.Channels {
		channel := c.Name
		if c.Name == p.DefaultChannel {
			channel += " (default)"
		}
		for _, b := range c.Bundles {
			deprecated := b.Deprecated != "" || c.Deprecated != "" || p.Deprecated != ""
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", p.Name, channel, b.Name, b.Version, Remarks(b.Name == c.Head, deprecated))
		}
	}
}

func writePackages(t io.Writer, packages []gantry.ListedOperator) {
	fmt.Fprintf(t, "PACKAGE\tDEFAULT CHANNEL\tHEAD\tCHANNELS\n")
	for _, p := range packages {
		var names []string
		head := ""
		for _, c := range p.Channels {
			names = append(names, c.Name)
			if c.Name == p.DefaultChannel {
				head = c.Head
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", p.Name, p.DefaultChannel, head, strings.Join(names, ", "))
	}
}

// Remarks describes a bundle or release in a table.
func Remarks(head, deprecated bool) string {
	switch {
	case head && deprecated:
		return "head, deprecated"
	case head:
		return "head"
	case deprecated:
		return "deprecated"
	}
	return ""
}
