package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog/excerpt"
	"github.com/gantry-mirror/gantry/plan/listing"
)

// CatalogListing returns a listing as a table: of packages, or of the bundles of one package, for a
// screen of this width; 0 is no limit. wide adds the features that bundles declare.
func CatalogListing(l *listing.CatalogListing, bundles, wide bool, width int) string {
	features := textIf(wide, "\tFEATURES")
	if bundles {
		return tabulate(width, "PACKAGE\tCHANNEL\tBUNDLE\tVERSION\t"+features, bundleRows(l.Packages[0], wide), "FEATURES", "PACKAGE", "VERSION")
	}
	return tabulate(width, "PACKAGE\tDEFAULT CHANNEL\tHEAD\tCHANNELS"+features, packageRows(l.Packages, wide), "FEATURES", "CHANNELS")
}

func bundleRows(p listing.ListedOperator, wide bool) (rows []string) {
	for _, c := range p.Channels {
		channel := c.Name
		channel += textIf(c.Name == p.DefaultChannel, " (default)")
		for _, b := range c.Bundles {
			deprecated := b.Deprecated != "" || c.Deprecated != "" || p.Deprecated != ""
			rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%s%s", p.Name, channel, b.Name, b.Version, Remarks(b.Name == c.Head, deprecated), featureCell(wide, b.Features)))
		}
	}
	return rows
}

func packageRows(packages []listing.ListedOperator, wide bool) (rows []string) {
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
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s%s", p.Name, p.DefaultChannel, head, strings.Join(names, ", "), featureCell(wide, features)))
	}
	return rows
}

// featureCell returns the last column of a wide table, or "".
func featureCell(wide bool, f *excerpt.Features) string {
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
