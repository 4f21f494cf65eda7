package planpage

import (
	"strings"

	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/page"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// A finder finds lines of a configuration. Without one, it finds 0.
type finder struct{ mirror imageset.Mirror }

func newFinder(c *imageset.Config) *finder {
	if c == nil {
		return &finder{}
	}
	return &finder{c.Mirror}
}

// operator returns the entry of a catalog, or nil.
func (f *finder) operator(c *plan.Catalog) (found *imageset.Operator) {
	source := c.Source
	if c.VariantOf != "" {
		source, _, _ = strings.Cut(c.VariantOf, " as ")
	}
	for i := range f.mirror.Operators {
		o := &f.mirror.Operators[i]
		if o.Catalog != source {
			continue
		}
		target := ""
		if o.TargetCatalog+o.TargetTag != "" {
			target = o.TargetCatalog + ":" + o.TargetTag
		}
		if found == nil || target == c.Target {
			found = o
		}
	}
	return found
}

// catalog returns the line of a catalog.
func (f *finder) catalog(c *plan.Catalog) int {
	if o := f.operator(c); o != nil {
		return o.Pos.Line
	}
	return 0
}

// inCatalog returns the line of a package: its own, or the one of a catalog without packages. Others are dependencies.
func (f *finder) inCatalog(c *plan.Catalog, name string) int {
	o := f.operator(c)
	if o == nil {
		return 0
	}
	for _, p := range o.Packages {
		if p.Name == name {
			return p.Pos.Line
		}
	}
	if len(o.Packages) == 0 {
		return o.Pos.Line
	}
	return 0
}

// release returns the lines of the channels that select a release, or the one that names it.
func (f *finder) release(r *plan.Release) (lines []int) {
	if f.mirror.Platform == nil {
		return nil
	}
	for _, why := range r.Reasons {
		line := 0
		for _, c := range f.mirror.Platform.Channels {
			if c.Name == why.Channel && (line == 0 || c.Product == r.Product) {
				line = c.Pos.Line
			}
		}
		if why.Channel == "" {
			line = f.mirror.Platform.Pos.Line
		}
		lines = appendLine(lines, line)
	}
	return lines
}

// channel returns the line of a channel of releases.
func (f *finder) channel(u *plan.UpdatePath) int {
	if f.mirror.Platform == nil {
		return 0
	}
	for _, c := range f.mirror.Platform.Channels {
		if c.Name == u.Channel && c.Product == u.Product {
			return c.Pos.Line
		}
	}
	return 0
}

// chart returns the line of a chart, or the one of a repository without charts.
func (f *finder) chart(c *plan.Chart) int {
	h := f.mirror.Helm
	if h == nil {
		return 0
	}
	for _, local := range h.Local {
		if local.Path == c.Origin {
			return local.Pos.Line
		}
	}
	for _, r := range h.Repositories {
		if strings.TrimRight(r.URL, "/") != strings.TrimRight(c.Origin, "/") {
			continue
		}
		line := 0
		for _, chart := range r.Charts {
			// Of several entries of a chart, the one that names the version has it.
			if chart.Name == c.Name && (line == 0 || chart.Version == c.Version) {
				line = chart.Pos.Line
			}
		}
		if line > 0 || len(r.Charts) == 0 {
			return max(line, r.Pos.Line)
		}
	}
	return 0
}

// file returns the line of a file.
func (f *finder) file(name string) int {
	for _, x := range f.mirror.Files {
		if x.Target == name {
			return x.Pos.Line
		}
	}
	return 0
}

// image returns the line of an additional image.
func (f *finder) image(source string) int {
	ref, err := reference.Parse(source)
	for _, x := range f.mirror.AdditionalImages {
		if x.Name == source {
			return x.Pos.Line
		}
		if other, wrong := reference.Parse(x.Name); err == nil && wrong == nil && (other.String() == source || x.Tags != nil && other.Name() == ref.Name()) {
			return x.Pos.Line
		}
	}
	return 0
}

// blocked returns the line of a pattern.
func (f *finder) blocked(pattern string) int {
	for _, x := range f.mirror.BlockedImages {
		if x.Name == pattern {
			return x.Pos.Line
		}
	}
	return 0
}

func appendLine(lines []int, line int) []int {
	for _, l := range lines {
		if l == line {
			return lines
		}
	}
	if line == 0 {
		return lines
	}
	return append(lines, line)
}

// asked is the cell about who asked for something: lines of the configuration, or else a text.
func asked(text string, lines ...int) page.Cell {
	var c page.Cell
	for _, l := range lines {
		c.Lines = appendLine(c.Lines, l)
	}
	if len(c.Lines) == 0 {
		c.Text = text
	}
	return c
}
