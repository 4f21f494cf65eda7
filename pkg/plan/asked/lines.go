package asked

import (
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// Lines finds lines of a configuration. What it does not have is at line 0.
type Lines struct{ mirror imageset.Mirror }

// New returns the lines of a configuration, which may be nil.
func New(c *imageset.Config) *Lines {
	if c == nil {
		return &Lines{}
	}
	return &Lines{c.Mirror}
}

// operator returns the entry of a catalog, or nil.
func (l *Lines) operator(c *plan.Catalog) (found *imageset.Operator) {
	source := c.Source
	if c.VariantOf != "" {
		source, _, _ = strings.Cut(c.VariantOf, " as ")
	}
	for i := range l.mirror.Operators {
		o := &l.mirror.Operators[i]
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

// Catalog returns the line of a catalog.
func (l *Lines) Catalog(c *plan.Catalog) int {
	if o := l.operator(c); o != nil {
		return o.Pos.Line
	}
	return 0
}

// InCatalog returns the line of a package: its own, or the one of a catalog without packages. Others are dependencies.
func (l *Lines) InCatalog(c *plan.Catalog, name string) int {
	o := l.operator(c)
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

// Release returns the lines of the channels that select a release, or the one that names it.
func (l *Lines) Release(r *plan.Release) (lines []int) {
	if l.mirror.Platform == nil {
		return nil
	}
	for _, why := range r.Reasons {
		line := 0
		for _, c := range l.mirror.Platform.Channels {
			if c.Name == why.Channel && (line == 0 || c.Product == r.Product) {
				line = c.Pos.Line
			}
		}
		if why.Channel == "" {
			line = l.mirror.Platform.Pos.Line
		}
		lines = Append(lines, line)
	}
	return lines
}

// Channel returns the line of a channel of releases.
func (l *Lines) Channel(u *plan.UpdatePath) int {
	if l.mirror.Platform == nil {
		return 0
	}
	for _, c := range l.mirror.Platform.Channels {
		if c.Name == u.Channel && c.Product == u.Product {
			return c.Pos.Line
		}
	}
	return 0
}

// Chart returns the line of a chart, or the one of a repository without charts.
func (l *Lines) Chart(c *plan.Chart) int {
	h := l.mirror.Helm
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

// File returns the line of a file.
func (l *Lines) File(name string) int {
	for _, x := range l.mirror.Files {
		if x.Target == name {
			return x.Pos.Line
		}
	}
	return 0
}

// Platform returns the line of the platform.
func (l *Lines) Platform() int {
	if l.mirror.Platform == nil {
		return 0
	}
	return l.mirror.Platform.Pos.Line
}

// Image returns the line of an additional image.
func (l *Lines) Image(source string) int {
	ref, err := reference.Parse(source)
	for _, x := range l.mirror.AdditionalImages {
		if x.Name == source {
			return x.Pos.Line
		}
		if other, wrong := reference.Parse(x.Name); err == nil && wrong == nil && (other.String() == source || x.Tags != nil && other.Name() == ref.Name()) {
			return x.Pos.Line
		}
	}
	return 0
}

// Blocked returns the line of a pattern.
func (l *Lines) Blocked(pattern string) int {
	for _, x := range l.mirror.BlockedImages {
		if x.Name == pattern {
			return x.Pos.Line
		}
	}
	return 0
}

// Append appends a line, unless it is 0 or there already.
func Append(lines []int, line int) []int {
	if slices.Contains(lines, line) {
		return lines
	}
	if line == 0 {
		return lines
	}
	return append(lines, line)
}
