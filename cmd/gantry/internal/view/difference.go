package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/mirror/report"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// ContentDifference returns what changed from one content to another as text.
func ContentDifference(d *report.ContentDifference) string {
	var b strings.Builder
	if d.Empty() {
		fmt.Fprintf(&b, "No difference: %s and %s have the same content.\n", Printable(d.Old.String()), Printable(d.New.String()))
		return b.String()
	}
	fmt.Fprintf(&b, "From %s\n  to %s\n", Printable(d.Old.String()), Printable(d.New.String()))
	difference(&b, &d.Difference)
	writeIf(&b, d.New.Missing > 0, "%s unavailable at the source, and not compared.\n", Number(d.New.Missing, "image is", "images are"))
	return b.String()
}

// difference writes what changed: catalogs, releases, charts, files, other images, and the sizes.
func difference(b *strings.Builder, d *plan.Difference) {
	for i := range d.Catalogs {
		changedCatalog(b, &d.Catalogs[i])
	}
	for _, part := range []struct {
		title    string
		releases []string
	}{{"Added", d.AddedReleases}, {"Removed", d.RemovedReleases}} {
		section(b, part.title+": "+Number(len(part.releases), "platform release", "platform releases"), elements.Map(part.releases, Printable))
	}
	changes(b, &plan.Changes{Changed: d.ChangedReleases}, "platform release", "platform releases")
	for _, part := range []struct {
		*plan.Changes
		one, many string
	}{{d.Charts, "chart", "charts"}, {d.Files, "file", "files"}} {
		if part.Changes != nil {
			changes(b, part.Changes, part.one, part.many)
		}
	}
	// Charts and files are listed by their names above.
	other := func(images []plan.ChangedImage) []plan.ChangedImage {
		return slices.DeleteFunc(slices.Clone(images), func(x plan.ChangedImage) bool { return x.Kind == plan.ChartImage || x.Kind == plan.FileImage })
	}
	changes(b, &plan.Changes{Added: other(d.Added), Removed: other(d.Removed), Changed: other(d.Changed)}, "image", "images")
	fmt.Fprintf(b, "New content: %s in %s. No longer needed: %s in %s.\n",
		progress.Bytes(d.NewBytes), Number(d.NewContent, "blob or manifest", "blobs and manifests"),
		progress.Bytes(d.RemovedBytes), Number(d.RemovedContent, "blob or manifest", "blobs and manifests"))
}

// changes writes lists of what was added, removed and changed.
func changes(b *strings.Builder, c *plan.Changes, one, many string) {
	for _, part := range []struct {
		title  string
		images []plan.ChangedImage
	}{{"Added", c.Added}, {"Removed", c.Removed}, {"Changed", c.Changed}} {
		section(b, part.title+": "+Number(len(part.images), one, many), elements.Map(part.images, func(x plan.ChangedImage) string {
			line := fmt.Sprintf("%s  %s", Printable(x.Name), progress.Bytes(x.Size))
			line += textIf(x.Old != "" && x.New != "", "  %s, was %s", Short(x.New), Short(x.Old))
			return line
		}))
	}
}

// changedCatalog writes the packages and channels of a catalog that differ.
func changedCatalog(b *strings.Builder, c *plan.ChangedCatalog) {
	titles := map[plan.Change]string{plan.ChangeAdded: "Added", plan.ChangeMoved: "Changed", plan.ChangeRemoved: "Removed"}
	fmt.Fprintf(b, "%s: catalog %s\n", titles[c.Change], Printable(c.Name))
	for _, p := range c.Packages {
		fmt.Fprintf(b, "  package %s%s\n", Printable(p.Name), textIf(p.Change != plan.ChangeMoved, " %s", p.Change))
		for _, ch := range p.Channels {
			fmt.Fprintf(b, "    %s\n", Printable(changedChannel(&ch)))
		}
	}
}

// changedChannel returns a line such as "channel stable: head lamp.v1.1.0, was lamp.v1.0.0; 1 bundle added".
func changedChannel(c *plan.ChangedChannel) string {
	line := "channel " + c.Name
	switch {
	case c.Change == plan.ChangeRemoved:
		return line + " removed, its head was " + c.OldHead
	case c.Change == plan.ChangeAdded:
		line += " added: head " + c.NewHead
	case c.OldHead != c.NewHead:
		line += fmt.Sprintf(": head %s, was %s", c.NewHead, c.OldHead)
	default:
		line += ": head " + c.NewHead
	}
	for _, part := range []struct {
		bundles []string
		how     string
	}{{c.Added, "added"}, {c.Moved, "with another image"}, {c.Removed, "removed"}} {
		what := strings.Join(part.bundles, ", ")
		if len(part.bundles) > 3 {
			what = fmt.Sprintf("%d bundles", len(part.bundles))
		}
		line += textIf(what != "", "; %s %s", what, part.how)
	}
	return line
}
