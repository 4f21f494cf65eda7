package build

import (
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/platform/path"
)

// unknownRisks looks for names of risks that no update of their channel has, on any architecture. Such a risk no longer exists,
// or its name is misspelled. A misspelled name under accept keeps updates away, which is a note. A misspelled name under forbid
// allows updates that should be forbidden, which is a warning.
func (c *releaseSelection) unknownRisks(all []*channel) {
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
				text += ", so forbidding it (risks.forbid) has no effect"
			}
			switch near := suggest.Phrase(name, known); {
			case near != "":
				text += "; " + near
			case forbidden:
				text += "; check its spelling: gantry list releases prints the risks of a path"
			}
			c.notes = append(c.notes, text)
			if forbidden {
				c.warnings = append(c.warnings, text)
			}
		}
	}
}
