package listing

import (
	"slices"
	"testing"
	"testing/fstest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestListPackageOrder checks that the bundles of a channel are listed from the newest to the oldest, by
// version and release, and that those without a version are last.
func TestListPackageOrder(t *testing.T) {
	t.Parallel()
	text := `{"schema": "olm.package", "name": "a", "defaultChannel": "stable"}
{"schema": "olm.channel", "package": "a", "name": "stable", "entries": [{"name": "a.none"}, {"name": "a.1"}, {"name": "a.1-r2", "replaces": "a.1-r1"}, {"name": "a.1-r1", "replaces": "a.1"}, {"name": "a.10", "replaces": "a.1-r2"}, {"name": "a.9"}]}
{"schema": "olm.bundle", "package": "a", "name": "a.none", "image": "r.example.com/a:0"}
`
	for name, version := range map[string]string{"a.1": `"1.0.0"`, "a.1-r1": `"1.0.0", "release": "1"`, "a.1-r2": `"1.0.0", "release": "2"`, "a.9": `"1.9.0"`, "a.10": `"1.10.0"`} {
		text += `{"schema": "olm.bundle", "package": "a", "name": "` + name + `", "image": "r.example.com/a:1", "properties": [{"type": "olm.package", "value": {"packageName": "a", "version": ` + version + "}}]}\n"
	}
	c, err := catalog.Read(t.Context(), fstest.MapFS{"catalog.json": {Data: []byte(text)}}, catalog.Options{})
	fail.On(t, err)
	listing := newCatalogListing("c", c.Packages, true, "stable", declaredBy)
	got := elements.Map(listing.Packages[0].Channels[0].Bundles, func(b OperatorBundle) string { return b.Name })
	fail.Diff(t, []string{"a.10", "a.9", "a.1-r2", "a.1-r1", "a.1", "a.none"}, got)
	if slices.ContainsFunc(newCatalogListing("c", c.Packages, true, "other", declaredBy).Packages, func(p ListedOperator) bool { return len(p.Channels) > 0 }) {
		t.Error("the listing of one channel has others")
	}
}
