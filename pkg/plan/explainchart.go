package plan

import "slices"

// An ExplainedChart is a chart with the images that it names.
type ExplainedChart struct {
	Chart
	// Images are the sources of the images that the rendered chart names, sorted.
	Images []string `json:"images,omitempty"`
}

// A NamingChart is a chart that names an image, or whose artifact the image is.
type NamingChart struct {
	Chart string `json:"chart"` // its text (Chart.String)
	// Owners are objects of the chart that name the image: "Deployment web". It is empty for the artifact.
	Owners []string `json:"as,omitempty"`
}

// nameChart adds the chart of a reason to an image.
func (x *ExplainedImage) nameChart(b Reason) {
	i := slices.IndexFunc(x.Charts, func(c NamingChart) bool { return c.Chart == b.Chart })
	if i < 0 {
		i = len(x.Charts)
		x.Charts = append(x.Charts, NamingChart{Chart: b.Chart})
	}
	if b.Name != "" {
		x.Charts[i].Owners = append(x.Charts[i].Owners, b.Name)
	}
}

// explainCharts returns the charts with a name, "NAME" or "NAME VERSION".
func (p *Plan) explainCharts(name string) []ExplainedChart {
	var all []ExplainedChart
	for _, c := range p.Charts {
		if c.Name != name && c.Name+" "+c.Version != name {
			continue
		}
		x := ExplainedChart{Chart: c}
		add := func(source string, because []Reason) {
			if slices.ContainsFunc(because, func(b Reason) bool { return b.Chart == c.String() }) && source != c.Source && !slices.Contains(x.Images, source) {
				x.Images = append(x.Images, source)
			}
		}
		for _, img := range p.Images {
			add(img.Source, img.Reasons)
		}
		for _, m := range p.Missing {
			add(m.Source, m.Reasons)
		}
		slices.Sort(x.Images)
		all = append(all, x)
	}
	return all
}
