package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog/excerpt"
	"github.com/gantry-mirror/gantry/plan/listing"
)

// CatalogListing returns a listing as a table: of packages, or of the bundles of one package, for a
// screen of this width; 0 is no limit. wide adds the features that bundles declare.
func CatalogListing(l *listing.CatalogListing, bundles, wide bool, width int) string {
	var rows strings.Builder
	t := newTable(&rows, width)
	if bundles {
		writeBundles(t, l.Packages[0], wide)
	} else {
		writePackages(t, l.Packages, wide)
	}
	_ = t.Flush() // into memory
	return Trimmed(rows.String())
}

func writeBundles(t io.Writer, p listing.ListedOperator, wide bool) {
	head := "PACKAGE\tCHANNEL\tBUNDLE\tVERSION\t"
	if wide {
		head += "\tFEATURES"
	}
	fmt.Fprintln(t, head)
	for _, c := range p.Channels {
		channel := c.Name
		if c.Name == p.DefaultChannel {
			channel += " (default)"
		}
		for _, b := range c.Bundles {
			deprecated := b.Deprecated != "" || c.Deprecated != "" || p.Deprecated != ""
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s%s\n", p.Name, channel, b.Name, b.Version, Remarks(b.Name == c.Head, deprecated), column(wide, b.Features))
		}
	}
}

func writePackages(t io.Writer, packages []listing.ListedOperator, wide bool) {
	titles := "PACKAGE\tDEFAULT CHANNEL\tHEAD\tCHANNELS"
	if wide {
		titles += "\tFEATURES"
	}
	fmt.Fprintln(t, titles)
	for _, p := range packages {
		var names []string
		head := ""
		var features *excerpt.Features
		for _, c := range p.Channels {
			names = append(names, c.Name)
			if c.Name == p.DefaultChannel {
				head, features = c.Head, c.Features
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s%s\n", p.Name, p.DefaultChannel, head, strings.Join(names, ", "), column(wide, features))
	}
}

// column returns the last column of a wide table, or "".
func column(wide bool, f *excerpt.Features) string {
	switch {
	case !wide:
		return ""
	case f == nil:
		return "\t"
	}
	return "\t" + Features(f.Supported, f.Unsupported)
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
