package upgrade_test

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// Operators that reach the head in a catalog and not in its successor.
func TestLost(t *testing.T) {
	t.Parallel()
	before := content(t, "stable: p.v1.0.0 p.v1.1.0<p.v1.0.0 p.v1.2.0<p.v1.1.0", "fast: p.v1.1.0 p.v1.2.0<p.v1.1.0")
	after := upgrade.Catalog{Name: "c", Kept: content(t, "stable: p.v1.2.0<p.v1.1.0", "fast: p.v1.1.0 p.v1.2.0<p.v1.1.0")}
	operator := func(g graph.Generation, bundle, version string, channels ...string) installed.Operator {
		return installed.Operator{Generation: g, Package: "p", Bundle: bundle, Version: version, Channels: channels}
	}
	for _, tc := range []struct {
		name string
		o    installed.Operator
		lost bool
	}{
		{"the bundle in between is gone", operator(graph.Classic, "p.v1.0.0", "", "stable"), true},
		{"the same by its version", operator(graph.Classic, "", "1.0.0", "stable"), true},
		{"any channel", operator(graph.Classic, "p.v1.0.0", ""), true},
		{"a direct predecessor", operator(graph.Classic, "p.v1.1.0", "", "stable"), false},
		{"the head", operator(graph.Classic, "p.v1.2.0", "", "stable"), false},
		{"one of several channels", operator(graph.Classic, "p.v1.1.0", ""), false},
		{"OLM v1 without a channel", operator(graph.V1, "p.v1.0.0", ""), true},
		{"OLM v1, a predecessor", operator(graph.V1, "p.v1.1.0", "", "fast"), false},
		{"a bundle that was not there", operator(graph.V1, "p.v0.9.0", "0.9.0"), false},
		{"another package", installed.Operator{Generation: graph.Classic, Package: "q", Bundle: "q.v1"}, false},
	} {
		fail.Diff(t, tc.lost, len(upgrade.Lost(before, after, []installed.Operator{tc.o})) > 0)
	}
	gone := upgrade.Catalog{Name: "c", Kept: content(t)}
	head := operator(graph.V1, "p.v1.2.0", "")
	fail.Diff(t, 1, len(upgrade.Lost(before, gone, []installed.Operator{head})))
}
