package view

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gantry-mirror/gantry/mirror/releases"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/plan/listing"
)

// What the lists of oc mirror print, which scripts cut with awk, grep and tail. The text is that of its version 2
// (internal/pkg/cli/list); the list of catalog versions, which that version does not have, is that of version 1.

// OCMirrorOperators returns a listing as oc mirror prints it: packages, or one package with its channels, or the
// versions in a channel of it, oldest first.
func OCMirrorOperators(l *listing.CatalogListing, onePackage, oneChannel bool) string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 4, columnGap, ' ', 0)
	switch {
	case oneChannel:
		fmt.Fprintln(t, "VERSIONS")
		for _, c := range l.Packages[0].Channels {
			for _, x := range slices.Backward(c.Bundles) {
				if x.Version != "" {
					fmt.Fprintln(t, x.Version)
				}
			}
		}
	case onePackage:
		p := l.Packages[0]
		if p.DefaultChannel != "" {
			ocMirrorPackages(t, l.Packages)
			fmt.Fprintln(t)
		}
		fmt.Fprintln(t, "PACKAGE\tCHANNEL\tHEAD")
		for _, c := range p.Channels {
			fmt.Fprintf(t, "%s\t%s\t%s\n", OneLine(p.Name), OneLine(c.Name), OneLine(c.Head))
		}
	default:
		ocMirrorPackages(t, l.Packages)
	}
	_ = t.Flush() // into memory
	return b.String()
}

func ocMirrorPackages(t *tabwriter.Writer, packages []listing.ListedOperator) {
	fmt.Fprintln(t, "NAME\tDISPLAY NAME\tDEFAULT CHANNEL")
	for _, p := range packages {
		fmt.Fprintf(t, "%s\t%s\t%s\n", OneLine(p.Name), OneLine(p.DisplayName), OneLine(p.DefaultChannel))
	}
}

// OCMirrorCatalogs returns the catalogs of a version of OpenShift, or without a version the versions that have
// catalogs, newest first, as oc mirror prints them.
func OCMirrorCatalogs(version string, found []string) string {
	if version == "" {
		var b strings.Builder
		b.WriteString("Available OpenShift OperatorHub catalog versions:\n")
		for _, v := range slices.Backward(found) {
			fmt.Fprintf(&b, "  v%s\n", v)
		}
		return b.String()
	}
	return fmt.Sprintf("Available OpenShift OperatorHub catalogs:\nOpenShift %s:\n%s\n", version, strings.Join(found, "\n"))
}

// OCMirrorReleases returns a list of releases as oc mirror prints it. The releases of a channel are listed
// oldest first. version is set for the channels of a version.
func OCMirrorReleases(l *releases.ReleaseList, version string) string {
	var b strings.Builder
	switch {
	case version != "":
		names := elements.Map(l.Channels, func(c releases.ListedChannel) string { return c.Name })
		slices.Sort(names)
		return fmt.Sprintf("Listing channels for version %s:\n\n%s\n", version, strings.Join(slices.Compact(names), "\n"))
	case len(l.Channels[0].Releases) == 0:
		var minors []string
		for _, c := range slices.Backward(l.Channels) { // one of each minor version and architecture, newest first
			minors = append(minors, c.Name[strings.LastIndex(c.Name, "-")+1:])
		}
		return "Available OpenShift Container Platform release versions:\n  " + strings.Join(slices.Compact(minors), "\n  ") + "\n"
	}
	if minor, ok := strings.CutPrefix(l.Channels[0].Name, "stable"); ok {
		b.WriteString("Listing stable channels. Use --channel=<name> to filter.\n")
		fmt.Fprintf(&b, "Use oc-mirror --v2 list releases --channels --version=%s to discover other channels.\n\n", strings.TrimPrefix(minor, "-"))
	}
	for _, c := range l.Channels {
		fmt.Fprintf(&b, "Channel: %s\nArchitecture: %s\n", c.Name, c.Arch)
		for _, r := range slices.Backward(c.Releases) {
			b.WriteString(r.Version + "\n")
		}
	}
	return b.String()
}
