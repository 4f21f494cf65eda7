package path

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/release/graph"
)

// A NoPathError is a source from which no updates lead to the target, whatever
// their risks.
type NoPathError struct {
	From, To semver.Version
	// Entry is the lowest release above From from which updates lead to To,
	// whatever their risks; nil where there is none.
	Entry   *semver.Version
	Instead Instead
}

// Error says what is in the way, and where the source gets to.
func (e *NoPathError) Error() string {
	var why string
	switch {
	case graph.Compare(e.From, e.To) > 0:
		return fmt.Sprintf("%s is newer than %s, and clusters do not go back: choose a target that is not older", e.From, e.To)
	case e.Entry != nil:
		why = fmt.Sprintf("the lowest release above it that leads there is %s", e.Entry)
	default:
		why = "no release above it leads there"
	}
	return fmt.Sprintf("no updates lead from %s to %s: %s, and %s", e.From, e.To, why, e.Instead)
}

// A BlockedError is a source whose every path to the target has something that may
// not be taken.
type BlockedError struct {
	// Path is the best there is.
	Path Path
	// Skips are its hops that leave out a minor version, which no cluster takes.
	Skips []Hop
	// Forbidden are the names of its risks that the policy forbids, Always those
	// that apply to every cluster and that nobody accepted.
	Forbidden, Always []string
	Instead           Instead
}

// Error names all that is in the way, what may be done about it, and where the
// source gets to.
func (e *BlockedError) Error() string {
	var why, advice []string
	for _, h := range e.Skips {
		why = append(why, fmt.Sprintf("%s -> %s leaves out a minor version, which no cluster does", h.From, h.To))
	}
	if len(e.Forbidden) > 0 {
		why = append(why, "these risks are forbidden: "+strings.Join(e.Forbidden, ", "))
	}
	if len(e.Always) > 0 {
		why = append(why, "these risks apply to every cluster: "+strings.Join(e.Always, ", "))
	}
	switch {
	case len(e.Skips) > 0:
	case len(e.Forbidden) > 0:
		advice = append(advice, "forbid them no longer")
	default:
		advice = append(advice, "accept them by name")
	}
	advice = append(advice, "choose another target")
	return fmt.Sprintf("%s does not get to %s as it should: of its best path %s, %s; %s: %s",
		e.Path.From, e.Path.To, e.Path, strings.Join(why, "; "), strings.Join(advice, " or "), e.Instead)
}

// refusal is the error of a source whose best path may not be taken; costs are
// those to the target.
func (s *search) refusal(i, target int, costs []Cost) error {
	if costs[i] == none {
		e := &NoPathError{From: s.g.Nodes[i].Version, To: s.g.Nodes[target].Version, Instead: s.instead(i, target)}
		for n := i + 1; n < target; n++ {
			if costs[n] != none {
				e.Entry = &s.g.Nodes[n].Version
				break
			}
		}
		return e
	}
	if s.policy.allows(costs[i]) {
		return nil
	}
	e := &BlockedError{Path: s.path(i, target, costs[i], s.share([]int{i}, costs)), Instead: s.instead(i, target)}
	for _, h := range e.Path.Hops {
		if skips(h.From, h.To) {
			e.Skips = append(e.Skips, h)
		}
		for _, r := range h.Risks {
			switch {
			case r.Forbidden:
				e.Forbidden = append(e.Forbidden, r.Name)
			case r.Always() && !r.Accepted && !s.policy.AllowAlways:
				e.Always = append(e.Always, r.Name)
			}
		}
	}
	slices.Sort(e.Forbidden)
	slices.Sort(e.Always)
	e.Forbidden, e.Always = slices.Compact(e.Forbidden), slices.Compact(e.Always)
	return e
}
