package path

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
)

// A NoPathError means that no updates lead from a source to the target, whatever their risks.
type NoPathError struct {
	From, To semver.Version
	// Entry is the lowest release above From from which updates lead to To, whatever their risks;
	// nil if there is none.
	Entry        *semver.Version
	Alternatives Alternatives
}

// Error says why there is no path, and what the source can reach.
func (e *NoPathError) Error() string {
	var why string
	switch {
	case graph.Compare(e.From, e.To) > 0:
		return fmt.Sprintf("%s is newer than %s, and clusters cannot be downgraded", e.From, e.To)
	case e.Entry != nil:
		why = fmt.Sprintf("the lowest release above %s with a path is %s", e.From, e.Entry)
	default:
		why = fmt.Sprintf("no release above %s has one either", e.From)
	}
	return fmt.Sprintf("there is no upgrade path from %s to %s: %s; %s", e.From, e.To, why, e.Alternatives)
}

// Advice implements advice.Adviser.
func (e *NoPathError) Advice() (advice.Kind, string) {
	if graph.Compare(e.From, e.To) > 0 {
		return advice.Input, "choose a target that is not older"
	}
	return advice.Input, "choose a target that it can update to"
}

// A BlockedError means that every path of a source to the target has something that may not be
// taken.
type BlockedError struct {
	// Path is the best of them.
	Path Path
	// Skips are its hops that leave out a minor version, which no cluster accepts.
	Skips []Hop
	// Forbidden are the names of its risks that the policy forbids, Always those that apply to
	// every cluster and were not accepted.
	Forbidden, Always []string
	Alternatives      Alternatives
}

// Error names everything that blocks the path, and what the source can reach.
func (e *BlockedError) Error() string {
	var why []string
	for _, h := range e.Skips {
		why = append(why, fmt.Sprintf("%s -> %s skips a minor version, which no cluster accepts", h.From, h.To))
	}
	if len(e.Forbidden) > 0 {
		why = append(why, "these risks are forbidden: "+strings.Join(e.Forbidden, ", "))
	}
	if len(e.Always) > 0 {
		why = append(why, "these risks apply to every cluster: "+strings.Join(e.Always, ", "))
	}
	return fmt.Sprintf("%s cannot be updated to %s: on its best path %s, %s; %s",
		e.Path.From, e.Path.To, e.Path, strings.Join(why, "; "), e.Alternatives)
}

// Advice implements advice.Adviser.
func (e *BlockedError) Advice() (advice.Kind, string) {
	switch {
	case len(e.Skips) > 0:
		return advice.Input, "choose another target"
	case len(e.Forbidden) > 0:
		return advice.Input, "remove them from the forbidden risks, or choose another target"
	}
	return advice.Input, "accept them by name, or choose another target"
}

// Blocked returns the best path of each source that an error of Find refuses because of what is on
// the path.
func Blocked(err error) []Path {
	var paths []Path
	for _, e := range all(err) {
		var blocked *BlockedError
		if errors.As(e, &blocked) {
			paths = append(paths, blocked.Path)
		}
	}
	return paths
}

// all returns the errors that errors.Join joined.
func all(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err != nil {
		return []error{err}
	}
	return nil
}

// refusal returns the error of a source whose best path may not be taken; nil if it may. costs are
// the costs to the target.
func (s *search) refusal(i, target int, costs []Cost) error {
	if costs[i] == none {
		e := &NoPathError{From: s.g.Nodes[i].Version, To: s.g.Nodes[target].Version, Alternatives: s.alternatives(i, target)}
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
	e := &BlockedError{Path: s.path(i, target, costs[i], s.share([]int{i}, costs)), Alternatives: s.alternatives(i, target)}
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
