package path

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
)

// A MissingError means that the update graph does not contain a version.
type MissingError struct {
	Version semver.Version
	// Target is true for the target, false for an installed release.
	Target bool
	// Minor is true if the graph has other releases of the same minor version.
	Minor bool
	// Below and Above are the nearest versions in the graph; nil if there are none.
	Below, Above *semver.Version
}

// Error names the nearest versions in the graph.
func (e *MissingError) Error() string {
	what, minor := "target", ""
	if !e.Target {
		what = "installed release"
	}
	if !e.Minor {
		minor = fmt.Sprintf(" and has no release of %d.%d", e.Version.Major, e.Version.Minor)
	}
	var near []string
	if e.Below != nil {
		near = append(near, e.Below.String()+" below")
	}
	if e.Above != nil {
		near = append(near, e.Above.String()+" above")
	}
	if len(near) == 0 {
		return fmt.Sprintf("the update graph is empty, and the %s %s is not in it", what, e.Version)
	}
	return fmt.Sprintf("the update graph does not contain the %s %s%s; the nearest are %s", what, e.Version, minor, strings.Join(near, " and "))
}

// Advice implements advice.Adviser.
func (e *MissingError) Advice() (advice.Kind, string) {
	return advice.Input, "choose a version of this channel, or a channel that contains it"
}

func missing(g *graph.Graph, v semver.Version, target bool) error {
	e := &MissingError{Version: v, Target: target}
	at, _ := slices.BinarySearchFunc(g.Nodes, v, func(n graph.Node, v semver.Version) int { return graph.Compare(n.Version, v) })
	if at > 0 {
		e.Below = &g.Nodes[at-1].Version
	}
	if at < len(g.Nodes) {
		e.Above = &g.Nodes[at].Version
	}
	for _, near := range []*semver.Version{e.Below, e.Above} {
		if near != nil && near.Major == v.Major && near.Minor == v.Minor {
			e.Minor = true
		}
	}
	return e
}
