package imageset

import (
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/redact"
)

// Helm are the Helm charts of mirror.helm. They are read, and not mirrored yet.
type Helm struct {
	Pos          Position
	Repositories []HelmRepository
	// Local are charts in files or folders: their Path is set.
	Local []Chart
}

// A HelmRepository is a chart repository, and what is selected from it.
type HelmRepository struct {
	Pos       Position
	Name, URL string
	// Charts is empty for every chart in the index of the repository.
	Charts []Chart
}

// A Chart is one Helm chart. An empty Version is the newest one.
type Chart struct {
	Pos                 Position
	Name, Version, Path string
	// ImagePaths are JSON paths, as kubectl writes them, of images in the rendered chart, in addition
	// to the usual ones.
	ImagePaths []string
	Platforms  []Platform
}

// A ChartName identifies a chart, or all charts of a repository, in messages and results.
type ChartName struct {
	// Chart is the name of the chart, or its path; "" for every chart of the repository.
	Chart      string `json:"chart,omitempty"`
	Version    string `json:"version,omitempty"`
	Repository string `json:"repository,omitempty"` // its address, without user and password
}

// String returns "podinfo 5.0.0 of https://host/charts".
func (c ChartName) String() string {
	s := c.Chart
	if s == "" {
		s = "every chart"
	}
	if c.Version != "" {
		s += " " + c.Version
	}
	if c.Repository != "" {
		s += " of " + c.Repository
	}
	return s
}

// Charts returns the charts that are selected, in the order of the file. h may be nil.
func (h *Helm) Charts() []ChartName {
	if h == nil {
		return nil
	}
	var all []ChartName
	for _, repository := range h.Repositories {
		address := redact.Address(repository.URL)
		if len(repository.Charts) == 0 {
			all = append(all, ChartName{Repository: address})
		}
		for _, c := range repository.Charts {
			all = append(all, ChartName{Chart: c.Name, Version: c.Version, Repository: address})
		}
	}
	for _, c := range h.Local {
		all = append(all, ChartName{Chart: c.Path, Version: c.Version})
	}
	return all
}

func helmObject() object[Helm] {
	return object[Helm]{
		fields: []field[Helm]{
			list("repositories", "Chart repositories.", func(h *Helm) *[]HelmRepository { return &h.Repositories },
				func(v *HelmRepository) *Position { return &v.Pos }, object[HelmRepository]{fields: []field[HelmRepository]{
					text("name", "The name of the repository.", func(v *HelmRepository) *string { return &v.Name }, grammar{}),
					must(text("url", "The http or https address of the repository.", func(v *HelmRepository) *string { return &v.URL }, grammar{})),
					list("charts", "The charts to mirror; all if omitted.", func(v *HelmRepository) *[]Chart { return &v.Charts },
						func(c *Chart) *Position { return &c.Pos }, chartObject("name")),
				}}),
			list("local", "Charts in files or folders.", func(h *Helm) *[]Chart { return &h.Local },
				func(c *Chart) *Position { return &c.Pos }, chartObject("path")),
		},
		renamed: map[string]string{"repos": "repositories"},
		check: func(r *reader, path string, h *Helm) {
			if charts := h.Charts(); len(charts) > 0 {
				r.warn(path, fmt.Sprintf("Helm charts are not mirrored by this version: %s left out", count(len(charts), "chart is", "charts are")),
					"mirror them in another way", nil)
			}
		},
	}
}

// chartObject is an entry of charts, which have a name, or of local, which have a path.
func chartObject(required string) object[Chart] {
	o := object[Chart]{
		fields: []field[Chart]{
			text("name", "The name of the chart.", func(c *Chart) *string { return &c.Name }, grammar{}),
			text("version", "The version of the chart.", func(c *Chart) *string { return &c.Version }, grammar{}),
			text("path", "The path of the chart, a folder or an archive.", func(c *Chart) *string { return &c.Path }, grammar{}),
			names("imagePaths", "JSON paths of images in the rendered chart, in addition to the usual ones.",
				func(c *Chart) *[]string { return &c.ImagePaths }, grammar{spaces: true}),
			list("platforms", "Mirror only these platforms of the chart's multi-platform images.",
				func(c *Chart) *[]Platform { return &c.Platforms }, func(p *Platform) *Position { return &p.Pos }, platformObject()),
		},
		check: func(r *reader, path string, c *Chart) { c.Platforms = checkPlatforms(r, path, c.Platforms) },
	}
	for i := range o.fields {
		o.fields[i].required = o.fields[i].name == required
	}
	return o
}

// count returns "1 chart is" or "2 charts are".
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
