package mirroring_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestPartOfArchive mirrors what a configuration selects of an archive: the catalog is built again without the other package.
// A site that imported a part is not taken for one that has the archive.
func TestPartOfArchive(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	disk := s.Exported(s.Config("imageset.yaml", mirrortest.SecondMonth), "disk")
	importing := func(stanza string) (*mirroring.Result, error) {
		return runs(s, "", s.Docker("site"), from(s, "far", disk), func(o *mirroring.Options) {
			if stanza != "" {
				o.Config = s.Config("part.yaml", stanza)
			}
		})
	}
	for _, absent := range []string{mirrortest.StoreOnly, strings.Replace(mirrortest.FirstMonth, "lantern", "other", 1)} {
		_, err := importing(absent)
		mirrortest.Refused(t, err, advice.Input, disk+" does not have what the configuration names", "part.yaml:", "without Options.Config, all of it is mirrored")
	}
	bundles := func(want ...string) {
		t.Helper()
		v, err := s.Mirror.Client().VerifyCatalog(t.Context(), "site/"+mirrortest.Acme, "v4.20", func(path string) string { return "site/" + path })
		fail.On(t, err)
		for _, pkg := range []string{"lantern", "tidewater"} {
			if has := strings.Contains(strings.Join(v.Bundles, " "), pkg); has != strings.Contains(strings.Join(want, " "), pkg) {
				t.Errorf("the catalog has %s: %t", pkg, has)
			}
		}
	}
	r, err := importing(mirrortest.FirstMonth + "  blockedImages: [{name: 'tools/'}, {name: acme/operator-index}]\n")
	fail.On(t, err)
	bundles("lantern")
	if s.Has("site", "netcheck") || len(r.Plan.Blocked) != 1 || r.Plan.Blocked[0].Pattern != "tools/" {
		t.Errorf("%v; blocked: %+v", s.Tags("site"), r.Plan.Blocked)
	}
	for range 2 { // the second time, nothing is copied
		r, err := importing(mirrortest.FirstMonth)
		fail.On(t, err)
		bundles("lantern")
		if s.Has("site", "must-gather") || !s.Has("site", "netcheck") || len(r.Plan.Catalogs[0].Packages) != 1 {
			t.Errorf("%v, %+v", s.Tags("site"), r.Plan.Catalogs)
		}
		if sets := s.Read(strings.TrimPrefix(r.Receipt, s.Dir)); strings.Contains(sets, `"sequence"`) {
			t.Errorf("the receipt lists the archive: %s", sets)
		}
	}
	r, err = importing("")
	fail.On(t, err)
	bundles("lantern", "tidewater")
	if sets := s.Read(strings.TrimPrefix(r.Receipt, s.Dir)); !s.Has("site", "must-gather") || !strings.Contains(sets, `"sequence"`) {
		t.Errorf("%v, receipt %s", s.Tags("site"), sets)
	}
}

// TestPartOfReleases mirrors the same configuration as the archive, and then one of its releases.
func TestPartOfReleases(t *testing.T) {
	t.Parallel()
	p := mirrortest.SmallPlatform(t)
	s := p.Site
	const channel = "  platform:\n    graph: true\n    channels: [{name: fast-4.20, minVersion: 4.18.1, shortestPath: true}]\n"
	disk := s.Exported(s.Config("imageset.yaml", channel), "disk")
	for i, tc := range []struct{ stanza, want string }{
		{channel, "4.18.1-x86_64 4.19.2-x86_64 4.20.2-x86_64"},
		{"  platform:\n    channels: [{name: fast-4.20, minVersion: 4.19.1}]\n", "4.19.2-x86_64 4.20.2-x86_64"},
	} {
		prefix := fmt.Sprint("site", i)
		r, err := runs(s, "", s.Docker(prefix), from(s, prefix, disk), func(o *mirroring.Options) { o.Config = s.Config("part.yaml", tc.stanza) })
		fail.On(t, err)
		tags := slices.Sorted(maps.Keys(p.MirrorTags(prefix + "/" + mirrortest.ReleaseRepository)))
		tags = slices.DeleteFunc(tags, func(tag string) bool { return !strings.HasPrefix(tag, "4.") })
		fail.Diff(t, tc.want, strings.Join(tags, " "))
		if (r.Plan.GraphData != nil) != (i == 0) {
			t.Errorf("%d: %v", i, r.Plan.GraphData)
		}
	}
}
