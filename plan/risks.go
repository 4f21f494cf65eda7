package plan

import (
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/release/path"
	"github.com/gantry-mirror/gantry/pkg/suggest"
)

// unknownRisks looks for names of risks that no update of their channel has, in the
// graph of whichever architecture. Such a risk is gone, which harms nobody, or its name
// is misspelt: one that was to be accepted is in the way, which is noted, and one that
// was to be forbidden is taken, which somebody has to be warned of.
func (c *choice) unknownRisks(all []*channel) {
	for i, ch := range all {
		same := slices.DeleteFunc(slices.Clone(all), func(o *channel) bool { return o.Name != ch.Name || o.Product != ch.Product })
		if same[0] != all[i] {
			continue
		}
		var known []string
		for _, o := range same {
			known = append(known, path.Names(o.graph)...)
		}
		for _, name := range path.Unknown(ch.graph, ch.policy()) {
			if slices.Contains(known, name) {
				continue
			}
			text := fmt.Sprintf("%s: no update of channel %s has the risk %q", ch.Pos, ch.Name, name)
			forbidden := slices.Contains(ch.Risks.Forbid, name)
			if forbidden {
				text += ", so that forbidding it (risks.forbid) keeps no update away"
			}
			switch near := suggest.Phrase(name, known); {
			case near != "":
				text += "; " + near
			case forbidden:
				text += "; look whether it is spelt as in the graph: gantry list releases names the risks of a path"
			}
			c.notes = append(c.notes, text)
			if forbidden {
				c.warnings = append(c.warnings, text)
			}
		}
	}
}
