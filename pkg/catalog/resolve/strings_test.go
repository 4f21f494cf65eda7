package resolve_test

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog/resolve"
)

func TestStrings(t *testing.T) {
	t.Parallel()
	n := resolve.Dependency{Catalog: "cs-redhat", Package: "a", Bundles: []string{"a.v1", "a.v2"}, Requirement: "an operator that provides g/v1 K"}
	if got, want := n.String(), `bundles "a.v1" and "a.v2" of cs-redhat need an operator that provides g/v1 K`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	n.Bundles = []string{"a.v1"}
	u := resolve.Unsatisfied{Dependency: n, Reason: "no catalog has one"}
	if got, want := u.String(), `bundle "a.v1" of cs-redhat needs an operator that provides g/v1 K: no catalog has one`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	n.Bundles = []string{"a.v1", "a.v2", "a.v3", "a.v4", "a.v5"}
	if got, want := n.Dependents(), `bundles "a.v1", "a.v2", "a.v3" and 2 more of cs-redhat`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
