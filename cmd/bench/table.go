package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// writeTable writes the medians as Markdown: for each workload, a table of the costs of every tool,
// and one of its requests to an empty destination.
func (r *report) writeTable(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d cores, %s, distribution registries on loopback, storage %s; %s.\n", r.Date, r.Cores, r.System, r.Storage, r.Content)
	if r.Latency > 0 {
		fmt.Fprintf(&b, "A proxy adds a round-trip time of %s to each registry.\n", time.Duration(r.Latency*float64(time.Second)))
	}
	var tools []string
	for _, t := range r.Tools {
		if t.Version != "" && t.Name != plannedName {
			tools = append(tools, t.Name+" "+t.Version)
		}
	}
	fmt.Fprintf(&b, "%s.", strings.Join(tools, ", "))
	if len(r.Absent) > 0 {
		fmt.Fprintf(&b, " Not in PATH: %s.", strings.Join(r.Absent, ", "))
	}
	b.WriteString(" Medians; compare within one table.\n")
	for _, m := range r.Presets {
		m.table(&b)
		m.requests(&b)
		m.writeBars(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (m *measured) table(b *strings.Builder) {
	fmt.Fprintf(b, "\n### %s\n\n%d references, %d manifests in %d repositories, %d blobs of %.1f MB.", m.Preset, m.References, m.Manifests, m.Repositories, m.Blobs, float64(m.Bytes)/1e6)
	if len(m.LeftOut) > 0 {
		fmt.Fprintf(b, " Left out, because they copy images one by one: %s.", strings.Join(m.LeftOut, ", "))
	}
	b.WriteString("\n\n| | | s | x floor | x gantry | CPU s | peak MB | requests: source | destination | disk MB | rounds |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	var problems []string
	for _, op := range operations() {
		floor, gantry := m.of(op, floorName).wall(), m.of(op, gantryName).wall()
		title := string(op)
		for _, r := range m.ordered(op) {
			name := r.Tool
			if r.Problem != "" {
				name += " \\*"
				problems = append(problems, fmt.Sprintf("%s, %s: %s", r.Tool, op, r.Problem))
			}
			if len(r.Samples) == 0 {
				fmt.Fprintf(b, "| %s | %s | | | | | | | | | |\n", title, name)
				title = ""
				continue
			}
			fmt.Fprintf(b, "| %s | %s | %.2f | %s | %s | %.2f | %.0f | %s | %s | %s | %d |\n", title, name,
				r.wall(), ratio(r.wall(), floor), ratio(r.wall(), gantry),
				r.median(func(s sample) float64 { return s.CPU }), r.median(func(s sample) float64 { return float64(s.Peak) })/1e6,
				number(r.requests(func(s sample) counts { return s.Source })), number(r.requests(func(s sample) counts { return s.Destination })),
				megabytes(r.median(func(s sample) float64 { return float64(s.Disk) })), len(r.Samples))
			title = ""
		}
	}
	for _, p := range problems {
		fmt.Fprintf(b, "\n\\* %s\n", strings.ReplaceAll(p, "\n", " "))
	}
}

// ordered returns the results of an operation, the fastest first and failures last.
func (m *measured) ordered(op operation) []*result {
	var all []*result
	for _, r := range m.Results {
		if r.Operation == op && (len(r.Samples) > 0 || r.Problem != "") {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(x, y *result) int {
		if a, b := len(x.Samples) == 0, len(y.Samples) == 0; a != b {
			if a {
				return 1
			}
			return -1
		}
		return cmp.Compare(x.wall(), y.wall())
	})
	return all
}

// requests writes the requests of each tool to an empty destination, by kind.
func (m *measured) requests(b *strings.Builder) {
	kinds := requestKinds()
	fmt.Fprintf(b, "\nRequests at the destination, %s:\n\n| | %s | all |\n|---|%s\n", copying, strings.Join(kinds, " | "), strings.Repeat("--:|", len(kinds)+1))
	for _, r := range m.ordered(copying) {
		if len(r.Samples) == 0 {
			continue
		}
		fmt.Fprintf(b, "| %s |", r.Tool)
		for _, kind := range kinds {
			fmt.Fprintf(b, " %s |", number(int(r.median(func(s sample) float64 { return float64(s.Destination[kind]) }))))
		}
		fmt.Fprintf(b, " %s |\n", number(r.requests(func(s sample) counts { return s.Destination })))
	}
}

// requests returns the median number of requests.
func (r *result) requests(at func(sample) counts) int {
	return int(r.median(func(s sample) float64 { return float64(at(s).all()) }))
}

// ratio returns a/b in the form "1.23", or "" if b is 0.
func ratio(a, b float64) string {
	if b == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", a/b)
}

// megabytes returns a size in the form "1.23", or "" if that would be 0.00 or less.
func megabytes(bytes float64) string {
	if bytes < 5000 {
		return ""
	}
	return fmt.Sprintf("%.2f", bytes/1e6)
}

// number returns n with commas between groups of digits, or "" for 0.
func number(n int) string {
	switch {
	case n == 0:
		return ""
	case n < 1000:
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", number(n/1000), n%1000)
}
