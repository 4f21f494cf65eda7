package planning

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// The selections of a plan, which older records have too, list the operators of clusters after those of the configuration.
func TestClustersOfPlan(t *testing.T) {
	t.Parallel()
	kite := imageset.Installed{Package: "kite", Bundle: "kite.v1.0.0", Version: "1.0.0", Channel: "stable"}
	wren := imageset.Installed{Package: "wren", Version: "2.0.0"}
	op := imageset.Operator{Catalog: "quay.io/org/index:v4.20", Installed: []imageset.Installed{kite}}
	cfg := &imageset.Config{}
	cfg.Mirror.Operators = []imageset.Operator{op}
	op.Installed = append(op.Installed, wren, kite)
	gull := imageset.Installed{Package: "gull", Version: "1.0.0"} // which an archive has, and not the part of it
	part := op
	part.Installed = append(slices.Clip(op.Installed), gull)
	partText, err := json.Marshal(part)
	fail.On(t, err)
	text, err := json.Marshal(op)
	fail.On(t, err)
	p := &plan.Plan{Name: "ops", Catalogs: []plan.Catalog{{Source: op.Catalog, Selection: text}}}
	kiteOf := func(olm string) state.ClusterOperator {
		return state.ClusterOperator{Package: "kite", Bundle: "kite.v1.0.0", Version: "1.0.0", Channel: "stable", OLM: olm}
	}
	wrenOf := state.ClusterOperator{Package: "wren", Version: "2.0.0"}
	ofArchive := &plan.Plan{Name: "ops", Catalogs: []plan.Catalog{{Source: op.Catalog, Selection: partText, Packages: []plan.Package{{Name: "kite"}}}}}
	old, err := clustersAfter(ofArchive, nil, &state.Clusters{Operators: []state.ClusterOperator{wrenOf}, Releases: []state.ClusterRelease{{Version: "4.20.1"}}})
	fail.On(t, err)
	want := &state.Clusters{Operators: []state.ClusterOperator{kiteOf(""), wrenOf}, Releases: []state.ClusterRelease{{Version: "4.20.1"}}}
	fail.Diff(t, want, old)
	selected := &selection.Selected{Config: cfg, Clusters: []installed.Operator{installed.Of(kite, graph.V1)}, Releases: []installed.ClusterVersion{{Version: "4.20.2", Channel: "stable-4.20"}}}
	selected.Recorded.Operators = []state.ClusterOperator{wrenOf}
	got, err := clustersAfter(p, selected, nil)
	fail.On(t, err)
	want = &state.Clusters{Operators: []state.ClusterOperator{wrenOf, kiteOf(state.OLMV1)}, Releases: []state.ClusterRelease{{Version: "4.20.2", Channel: "stable-4.20"}}}
	fail.Diff(t, want, got)
	if n := len(RecordedOperators(got.Operators)); n != 3 { // the generation of wren is unknown
		t.Errorf("%d operators", n)
	}
	if c, err := clustersAfter(&plan.Plan{}, nil, nil); c != nil || err != nil {
		t.Errorf("without catalogs and releases: %v, %v", c, err)
	}
}
