package explain

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/asked"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// A Result is why something is in a plan.
type Result struct {
	plan.Explanation
	// AskedFor are the lines of the configuration that asked for it, or for what needs it, and what would go without them.
	// There are none if the configuration is unknown or was changed.
	AskedFor []AskedFor `json:"askedFor,omitempty"`
}

// AskedFor is a line of a configuration.
type AskedFor struct {
	// File is relative to the working directory if it is below that.
	File string `json:"file"`
	Line int    `json:"line"`
	// Without is what only this line needs.
	Without asked.Saved `json:"without"`
}

// configuration returns the file of the configuration that a plan was made from, and its content; nil if it is unknown.
func (o *Options) configuration(p *plan.Plan, workspace string) (string, *imageset.Config) {
	file := o.Config
	if file == "" && o.Plan == "" {
		file, _ = state.ReadConfiguration(workspace, p.Name) // the reasons in the plan are shown anyway
	}
	if file == "" {
		return "", nil
	}
	c, err := imageset.Load(file)
	if err != nil {
		return "", nil
	}
	if dir, err := os.Getwd(); err == nil && filepath.IsAbs(file) {
		if below, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(below) {
			file = below
		}
	}
	return file, c
}

// askedFor returns the lines of a configuration that asked for what is explained.
func askedFor(p *plan.Plan, e *plan.Explanation, file string, c *imageset.Config) (all []AskedFor) {
	if c == nil {
		return nil
	}
	l := asked.New(c)
	var lines []int
	add := func(more []int) {
		for _, line := range more {
			lines = asked.Append(lines, line)
		}
	}
	for _, b := range e.Bundles {
		add(l.Package(p, b.Catalog, b.Package))
	}
	for _, r := range e.Releases {
		add(l.Of(p, "", plan.Reason{Release: r.Name}))
	}
	for _, x := range e.Charts {
		add(l.Of(p, "", plan.Reason{Chart: x.Chart.String()}))
	}
	for _, x := range e.Images {
		for _, r := range reasonsOf(p, x) {
			add(l.Of(p, x.Source, r))
		}
	}
	slices.Sort(lines)
	without := l.Without(p)
	return elements.Map(lines, func(line int) AskedFor { return AskedFor{file, line, without[line]} })
}

// reasonsOf returns the reasons for an image, which may be missing or blocked.
func reasonsOf(p *plan.Plan, x plan.ExplainedImage) []plan.Reason {
	for i := range p.Images {
		if p.Images[i].Source == x.Source && p.Images[i].Digest == x.Digest {
			return p.Images[i].Reasons
		}
	}
	for _, m := range p.Missing {
		if m.Source == x.Source {
			return m.Reasons
		}
	}
	for _, b := range p.Blocked {
		if b.Source == x.Source {
			return b.Reasons
		}
	}
	return nil
}
