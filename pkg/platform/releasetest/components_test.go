package releasetest

import (
	"maps"
	"slices"
	"testing"
)

// TestComponents checks that the lists of components are sorted, have no duplicates and contain an
// alias.
func TestComponents(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{Components(), Real412()} {
		if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
			t.Errorf("not sorted, or with duplicates: %q", names)
		}
		found := 0
		for alias, of := range maps.All(aliases) {
			if slices.Contains(names, alias) && slices.Contains(names, of) {
				found++
			}
		}
		if found == 0 {
			t.Errorf("no alias in %q", names)
		}
	}
}
