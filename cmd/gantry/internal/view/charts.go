package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// writeCharts writes how the charts that were mirrored are installed.
func writeCharts(b *strings.Builder, r *mirroring.Result) {
	if len(r.Charts) == 0 {
		return
	}
	if r.Charts[0].Address == "" {
		fmt.Fprintf(b, "Helm charts: %d, to be installed from the registry that this is mirrored to.\n", len(r.Charts))
		return
	}
	b.WriteString("Helm charts:\n")
	var lines []string
	for _, c := range r.Charts {
		line := fmt.Sprintf("helm install %s %s --version %s", c.Name, c.Address, c.Version)
		if c.PlainHTTP {
			line += " --plain-http"
		}
		lines = append(lines, line)
	}
	List(b, lines)
}

// writeExplainedCharts writes charts with the images that they name.
func writeExplainedCharts(b *strings.Builder, charts []plan.ExplainedChart) {
	for _, c := range charts {
		fmt.Fprintf(b, "chart %s %s of %s\n", c.Name, c.Version, c.Origin)
		switch {
		case c.Provenance:
			fmt.Fprintf(b, "  becomes %s:%s, with its provenance file\n", c.Repository, c.Tag)
		default:
			fmt.Fprintf(b, "  becomes %s:%s\n", c.Repository, c.Tag)
		}
		for _, i := range c.Images {
			fmt.Fprintf(b, "  names %s\n", i)
		}
	}
}

// writePlannedCharts writes the charts of a plan, and the images that they name.
func writePlannedCharts(b *strings.Builder, p *plan.Plan) {
	if len(p.Charts) == 0 {
		return
	}
	names := map[string]int{} // the number of images, by chart
	for _, img := range p.Images {
		count := map[string]bool{}
		for _, why := range img.Reasons {
			if why.Chart != "" && img.Kind != plan.ChartImage && !count[why.Chart] {
				count[why.Chart] = true
				names[why.Chart]++
			}
		}
	}
	b.WriteString("Helm charts\n")
	var lines []string
	for _, c := range p.Charts {
		lines = append(lines, fmt.Sprintf("%s  becomes %s:%s, names %s", c, c.Repository, c.Tag, Number(names[c.String()], "image", "images")))
	}
	List(b, lines)
	b.WriteByte('\n')
}
