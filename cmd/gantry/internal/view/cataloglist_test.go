package view

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog/excerpt"
	"github.com/gantry-mirror/gantry/plan/listing"
)

func TestCatalogListing(t *testing.T) {
	t.Parallel()
	declared := &excerpt.Features{Supported: []string{"cni", "disconnected"}, Unsupported: []string{"fips-compliant"}}
	l := &listing.CatalogListing{Packages: []listing.ListedOperator{{Name: "a", DefaultChannel: "stable", Channels: []listing.OperatorChannel{
		{Name: "fast", Head: "a.2"},
		{Name: "stable", Head: "a.1", Features: declared, Bundles: []listing.OperatorBundle{{Name: "a.1", Version: "1.0.0", Features: declared}, {Name: "a.0", Version: "0.1.0"}}},
	}}}}
	for _, tc := range []struct {
		bundles, wide bool
		want          string
	}{
		{false, false, "PACKAGE  DEFAULT CHANNEL  HEAD  CHANNELS\na        stable           a.1   fast, stable\n"},
		{false, true, "PACKAGE  DEFAULT CHANNEL  HEAD  CHANNELS      FEATURES\na        stable           a.1   fast, stable  cni, disconnected, not fips-compliant\n"},
		{true, true, "PACKAGE  CHANNEL           BUNDLE  VERSION        FEATURES\n" +
			"a        stable (default)  a.1     1.0.0    head  cni, disconnected, not fips-compliant\n" +
			"a        stable (default)  a.0     0.1.0\n"},
	} {
		if diff := cmp.Diff(tc.want, CatalogListing(l, tc.bundles, tc.wide, 0)); diff != "" {
			t.Errorf("bundles %t, wide %t (-want +got):\n%s", tc.bundles, tc.wide, diff)
		}
	}
}
