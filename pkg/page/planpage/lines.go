package planpage

import (
	"github.com/gantry-mirror/gantry/pkg/page"
	"github.com/gantry-mirror/gantry/pkg/plan/asked"
)

// askedBy is the cell about who asked for something: lines of the configuration, or else a text.
func askedBy(text string, lines ...int) page.Cell {
	var c page.Cell
	for _, l := range lines {
		c.Lines = asked.Append(c.Lines, l)
	}
	if len(c.Lines) == 0 {
		c.Text = text
	}
	return c
}
