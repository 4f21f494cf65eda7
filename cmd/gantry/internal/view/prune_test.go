package view

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/pkg/mirror/prune"
)

func TestPruned(t *testing.T) {
	plan := &prune.DeletionPlan{Mirror: "docker://m.example.com/p", Revisions: []string{"a.t1.0123456789ab"}}
	sets := []string{"a", "b"}
	for _, tc := range []struct {
		name        string
		r           removal.PruneResult
		has, hasNot string
		alsoHasNot  string
	}{
		{"a plan", removal.PruneResult{Plan: plan, ImageSets: sets}, "records of 2 image sets: a, b. What any other image set needs is not known", "Not deleted", "garbage"},
		{"refused", removal.PruneResult{Plan: plan, ImageSets: sets, Refused: true}, "Not deleted from ", "--yes", "To delete"},
		{"only records", removal.PruneResult{Plan: plan, Deleted: &prune.Report{}}, "Deleted from docker://m.example.com/p: 1 earlier record that lists nothing else.\n", "garbage", "0 manifests"},
		{"manifests", removal.PruneResult{Plan: plan, Deleted: &prune.Report{Manifests: 1}}, "garbage", "earlier record", "--yes"},
	} {
		got := Pruned(&tc.r)
		if !strings.Contains(got, tc.has) || strings.Contains(got, tc.hasNot) || strings.Contains(got, tc.alsoHasNot) {
			t.Errorf("%s:\n%s", tc.name, got)
		}
	}
}
