package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/pkg/elements"
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
	section(b, "Helm charts:", elements.Map(r.Charts, func(c mirroring.MirroredChart) string {
		line := fmt.Sprintf("helm install %s %s --version %s", c.Name, c.Address, c.Version)
		line += textIf(c.PlainHTTP, " --plain-http")
		return line
	}))
}

// writeExplainedCharts writes charts with the images that they name.
func writeExplainedCharts(b *strings.Builder, charts []plan.ExplainedChart) {
	for _, c := range charts {
		fmt.Fprintf(b, "chart %s %s of %s\n", c.Name, c.Version, c.Origin)
		with := textIf(c.Provenance, ", with its provenance file")
		fmt.Fprintf(b, "  becomes %s:%s%s\n", c.Repository, c.Tag, with)
		writeAll(b, "  names %s\n", c.Images)
	}
}

// writePlannedCharts writes the charts of a plan, and the images that they name.
func writePlannedCharts(b *strings.Builder, p *plan.Plan) {
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
	paragraph(b, "Helm charts", elements.Map(p.Charts, func(c plan.Chart) string {
		return fmt.Sprintf("%s  becomes %s:%s, names %s", c, c.Repository, c.Tag, Number(names[c.String()], "image", "images"))
	}))
}
