package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/mirror/releases"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// Releases returns a list of releases or channels as tables, or paths as in plans, for a screen of this
// width; 0 is no limit.
func Releases(l *releases.ReleaseList, width int) string {
	var b strings.Builder
	paths := &plan.Plan{}
	if c := l.Channels[0]; len(c.Releases) == 0 && c.From == "" {
		writeChannels(&b, l.Channels, width)
	}
	for _, c := range l.Channels {
		switch {
		case c.Path != nil:
			paths.Updates = append(paths.Updates, *c.Path)
		case c.Releases != nil:
			writeIf(&b, b.Len() > 0, "\n")
			writeIf(&b, len(l.Channels) > 1, "%s for %s%s\n", c.Name, c.Arch, textIf(c.From != "", ", from %s", c.From))
			writeReleaseList(&b, c, width)
		}
	}
	writeUpdates(&b, paths)
	writeRisks(&b, paths)
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func writeChannels(b *strings.Builder, channels []releases.ListedChannel, width int) {
	b.WriteString(tabulate(width, "CHANNEL\tARCH\tHEAD\tRELEASES", elements.Map(channels, func(c releases.ListedChannel) string {
		return fmt.Sprintf("%s\t%s\t%s\t%d", OneLine(c.Name), OneLine(string(c.Arch)), OneLine(c.Head), c.Count)
	})))
}

func writeReleaseList(b *strings.Builder, c releases.ListedChannel, width int) {
	if len(c.Releases) == 0 {
		fmt.Fprintf(b, "no updates lead from %s to any release\n", c.From)
		return
	}
	heading := []string{"VERSION", "", "ERRATUM", "CHANNELS"}
	if c.From != "" {
		heading = []string{"VERSION", "", "HOPS", "RISKS", "ERRATUM"}
	}
	sizes := slices.ContainsFunc(c.Releases, func(r releases.ListedRelease) bool { return r.Size > 0 })
	if sizes {
		heading = slices.Insert(heading, 2, "SIZE")
	}
	rows := elements.Map(c.Releases, func(r releases.ListedRelease) string {
		row := []string{r.Version, Remarks(r.Head, false)}
		if sizes {
			row = append(row, cmp.Or(textIf(r.Size > 0, "%s", progress.Bytes(r.Size)), "-"))
		}
		if r.Reached != nil {
			row = append(row, fmt.Sprint(r.Reached.Hops), riskText(r.Reached), r.URL)
		} else {
			row = append(row, r.URL, strings.Join(r.Channels, ", "))
		}
		return strings.Join(elements.Map(row, OneLine), "\t")
	})
	b.WriteString(tabulate(width, strings.Join(heading, "\t"), rows, "ERRATUM", "CHANNELS"))
}

// riskText returns the number of risks on the path to a release.
func riskText(r *releases.Reached) string {
	return cmp.Or(textIf(r.Risks > 0, "%d", r.Risks), "-") + textIf(r.Always > 0, " (%d for every cluster)", r.Always)
}
