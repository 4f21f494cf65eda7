package releases

import (
	"context"
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
	"github.com/gantry-mirror/gantry/pkg/platform/picture"
)

// ReleaseGraphOptions says which update graph ReleaseGraph draws. With From and To, it is the part
// between two releases, and the path that a plan would choose is marked. To defaults to the head of
// the channel.
type ReleaseGraphOptions struct {
	Env *env.Env
	ReleaseQuery
	// Channel is the channel, such as "stable-4.20".
	Channel string
	// Arch is the architecture of the releases. The default is the first one of Config, or amd64.
	Arch string
	// All gives each release its own box.
	All bool
}

// ReleaseGraph draws the update graph of a channel of platform releases. It returns the graph, too, or
// the part of it that is drawn. If a plan would refuse a path, it returns the drawing with the best path
// and an error of kind Input; the graph is nil if there is nothing to draw.
func ReleaseGraph(ctx context.Context, o ReleaseGraphOptions) (diagram.Drawing, *graph.Graph, error) {
	e, done := o.Env.OrDefault()
	defer done()
	var names []string
	if o.Arch != "" {
		names = []string{o.Arch}
	}
	arches, err := parseArches(names)
	if err != nil {
		return diagram.Drawing{}, nil, err
	}
	c, err := newReleaseClient(e, &o.ReleaseQuery)
	if err != nil {
		return diagram.Drawing{}, nil, err
	}
	g, err := c.graph(ctx, o.Channel, c.orDefault(arches)[0])
	if err != nil {
		return diagram.Drawing{}, nil, err
	}
	options := picture.Options{Title: fmt.Sprintf("%s for %s", o.Channel, g.arch), All: o.All}
	if len(g.from) > 0 {
		options.Paths, err = c.paths(g, o.policy())
		if len(options.Paths) == 0 {
			return diagram.Drawing{}, nil, err
		}
	}
	part := g.Graph
	if len(g.from) > 0 || g.to >= 0 {
		part = picture.Part(g.Graph, g.from, g.to)
	}
	return picture.Draw(part, options), part, err
}
