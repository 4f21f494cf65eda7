package path

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/release/graph"
)

// A MissingError is a version that the graph does not have.
type MissingError struct {
	Version semver.Version
	// Target is set where it is the target, else it is a source.
	Target bool
	// Minor is set where the graph has other releases of its minor version.
	Minor bool
	// Below and Above are the nearest versions that are there; nil where there is
	// none.
	Below, Above *semver.Version
}

// Error says what is there instead.
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
		return fmt.Sprintf("the graph, which is empty, does not have the %s %s: name another channel", what, e.Version)
	}
	return fmt.Sprintf("the graph does not have the %s %s%s: the nearest that are there are %s", what, e.Version, minor, strings.Join(near, " and "))
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
