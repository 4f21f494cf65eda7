package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/plan"
)

// A releaseListing is what there is in channels, as -o json has it.
type releaseListing struct {
	Version  int              `json:"version"`
	Product  release.Product  `json:"product"`
	Channels []listedReleases `json:"channels"`
}

// listedReleases are a channel for one architecture: itself alone in a list of
// channels, with its releases, or with a path.
type listedReleases struct {
	Name  string       `json:"name"`
	Arch  release.Arch `json:"arch"`
	URL   string       `json:"url"` // where it was asked for
	Head  string       `json:"head"`
	Count int          `json:"count"` // of all releases that it has
	// From is what the cluster runs. Then Releases are those that it gets to.
	From     string           `json:"from,omitempty"`
	Releases []listedRelease  `json:"releases,omitempty"` // newest first
	Path     *plan.UpdatePath `json:"path,omitempty"`
}

type listedRelease struct {
	Version  string   `json:"version"`
	Payload  string   `json:"payload"`
	URL      string   `json:"url,omitempty"` // of the erratum
	Channels []string `json:"channels,omitempty"`
	Head     bool     `json:"head,omitempty"`
	Reached  *reached `json:"reached,omitempty"`
}

// reached is the best path to a release. Risks count on each hop that has them,
// unless they are accepted; Always are those of them that apply to every cluster.
type reached struct {
	Hops   int `json:"hops"`
	Risks  int `json:"risks"`
	Always int `json:"always"`
}

func listRelease(g *releaseGraph, i int) listedRelease {
	n := g.Nodes[i]
	return listedRelease{Version: n.Version.String(), Payload: n.Payload, URL: n.URL, Channels: n.Channels, Head: i == g.Head()}
}

func (a *app) printReleases(form string, l releaseListing) error {
	if form != outputText {
		return a.print(form, l)
	}
	var b strings.Builder
	if c := l.Channels[0]; len(c.Releases) == 0 && c.From == "" {
		writeChannels(&b, l.Channels)
	} else {
		for i, c := range l.Channels {
			if i > 0 {
				b.WriteByte('\n')
			}
			if len(l.Channels) > 1 {
				fmt.Fprintf(&b, "%s for %s\n", c.Name, c.Arch)
			}
			c.write(&b)
		}
	}
	return a.text(strings.TrimRight(b.String(), "\n") + "\n")
}

// columns writes rows of cells below each other; the first is the heading.
func columns(b *strings.Builder, rows [][]string) {
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = oneLine(cell)
		}
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	_ = t.Flush() // into memory
	b.WriteString(trimmed(text.String()))
}

func writeChannels(b *strings.Builder, channels []listedReleases) {
	rows := [][]string{{"CHANNEL", "ARCH", "HEAD", "RELEASES"}}
	for _, c := range channels {
		rows = append(rows, []string{c.Name, string(c.Arch), c.Head, fmt.Sprint(c.Count)})
	}
	columns(b, rows)
}

func (c listedReleases) write(b *strings.Builder) {
	switch {
	case c.Path != nil:
		p := &plan.Plan{Updates: []plan.UpdatePath{*c.Path}} // plans say it in the same words
		writeUpdates(b, p)
		writeRisks(b, p)
		return
	case len(c.Releases) == 0:
		fmt.Fprintf(b, "no updates lead from %s to any release\n", c.From)
		return
	}
	heading := []string{"VERSION", "", "ERRATUM", "CHANNELS"}
	if c.From != "" {
		heading = []string{"VERSION", "", "HOPS", "RISKS", "ERRATUM"}
	}
	rows := [][]string{heading}
	for _, r := range c.Releases {
		row := []string{r.Version, remarks(r.Head, false)}
		if r.Reached != nil {
			row = append(row, fmt.Sprint(r.Reached.Hops), r.Reached.riskText(), r.URL)
		} else {
			row = append(row, r.URL, strings.Join(r.Channels, ", "))
		}
		rows = append(rows, row)
	}
	columns(b, rows)
}

// riskText is how many risks the way to a release has.
func (r reached) riskText() string {
	switch {
	case r.Risks == 0:
		return "-"
	case r.Always == 0:
		return fmt.Sprint(r.Risks)
	}
	return fmt.Sprintf("%d (%d for every cluster)", r.Risks, r.Always)
}
