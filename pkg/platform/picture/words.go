package picture

import (
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/diagram"
)

// The names of marks and kinds.
const (
	head        = "head"
	newest      = "newest"
	start       = "start"
	target      = "target"
	onPath      = "on the path"
	beside      = "beside the path"
	risky       = "risks ahead"
	stuck       = "dead end"
	folded      = "folded"
	update      = "from"
	conditional = "conditional"
)

func (s *sketch) marks() []diagram.Mark {
	to := "the head"
	if len(s.g.Nodes) > 0 {
		to = s.version(s.target).String()
	}
	return []diagram.Mark{
		{Name: head, About: "the newest release of all", Look: diagram.Strong},
		{Name: newest, About: "the newest release of its minor version", Look: diagram.Badge},
		{Name: start, About: "where the path begins", Look: diagram.Here},
		{Name: target, About: "where the path ends", Look: diagram.Strong},
		{Name: onPath, About: "a release of the path", Look: diagram.Chosen},
		{Name: beside, About: "an update that is not on the path", Look: diagram.Faded},
		{Name: risky, About: "only updates with risks lead on to " + to, Look: diagram.Notice},
		{Name: stuck, About: "no updates lead on to " + to, Look: diagram.Notice},
		{Name: folded, About: "several releases in a row", Look: diagram.Stacked},
	}
}

func kinds() []diagram.Kind {
	return []diagram.Kind{
		{Name: update, About: "a recommended update", Line: diagram.Solid},
		{Name: conditional, About: "an update that is recommended if none of its risks applies", Line: diagram.Dash},
	}
}

// counted returns a number with its noun.
func counted(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case noun == "box":
		noun = "boxe"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
