package build

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// TestFeatures plans an operator that declares that it needs the internet.
func TestFeatures(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	annotations := map[string]any{"features.operators.openshift.io/disconnected": "false", "features.operators.openshift.io/cni": "true"}
	w.catalog("/cat", "op", map[string]any{
		"image": w.push("quay.io/org/op-bundle", w.image("bundle")), "relatedImages": related(),
		"properties": []map[string]any{{"type": "olm.csv.metadata", "value": map[string]any{"annotations": annotations}}},
	})
	p := w.makePlan("  operators:\n  - catalog: dir:///cat\n")
	want := plan.DeclaredFeatures{Package: "op", Bundle: "op.v1.0.0", Supported: []string{"cni"}, Unsupported: []string{"disconnected"}}
	fail.Diff(t, plan.FeatureList{want}, p.Catalogs[0].Features)
	if note := "dir:///cat: 1 package declares that it does not support disconnected clusters: op (op.v1.0.0)"; !slices.Contains(p.Notes, note) {
		t.Errorf("no note %q in %q", note, p.Notes)
	}
	if found := p.Explain("op").Bundles; len(found) != 1 || found[0].Features == nil || !cmp.Equal(*found[0].Features, want) {
		t.Errorf("explained: %+v", found)
	}
	// Earlier versions read the plan: it is written without them. Plans that have them are read.
	text := jsonOf(t, p)
	if bytes.Contains(text, []byte(`"features"`)) {
		t.Errorf("the plan has the features: %s", text)
	}
	with := func(name string) []byte {
		return bytes.Replace(text, []byte(`"packages":`), []byte(`"features": [{"package": "op", "bundle": "op.v1.0.0", "supported": ["`+name+`"]}], "packages":`), 1)
	}
	again, err := plan.Read(bytes.NewReader(with("cni")))
	if err != nil || len(again.Catalogs[0].Features) != 1 || !bytes.Equal(text, jsonOf(t, again)) {
		t.Errorf("read back: %v", err)
	}
	if _, err := plan.Read(bytes.NewReader(with(`c\u001bni`))); err == nil {
		t.Error("a feature with a control character is accepted")
	}
}
