package build

import (
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestBoundsNeedNotBeReleases checks that a bound that the channel does not have limits the range, too.
func TestBoundsNeedNotBeReleases(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]struct{ releases, note string }{
		"minVersion: 4.19.9":                          {"4.20.0 4.20.1 4.20.2", "channel stable-4.20 for amd64: minVersion 4.19.9 is not a release of it; the nearest in the range is 4.20.0"},
		"maxVersion: 4.19.2-rc.1":                     {"4.18.1 4.18.2 4.19.1", "channel stable-4.20 for amd64: maxVersion 4.19.2-rc.1 is not a release of it; the nearest in the range is 4.19.1"},
		"minVersion: 4.20.1, maxVersion: 4.21.7":      {"4.20.1 4.20.2", "channel stable-4.20 for amd64: maxVersion 4.21.7 is not a release of it; the nearest in the range is 4.20.2"},
		"minVersion: 4.19, maxVersion: 4.19":          {"4.19.1 4.19.2 4.19.3", ""},
		"minVersion: 4.0.1, maxVersion: 4.18":         {"4.18.1 4.18.2", "channel stable-4.20 for amd64: minVersion 4.0.1 is not a release of it; the nearest in the range is 4.18.1"},
		"minVersion: 4.20.0, maxVersion: 4":           {"4.20.0 4.20.1 4.20.2", ""},
		"maxVersion: 4.18.99, shortestPath: true":     {"4.18.1 4.18.2", "channel stable-4.20 for amd64: maxVersion 4.18.99 is not a release of it; the nearest in the range is 4.18.2"},
		"full: true, shortestPath: true":              {"4.18.1 4.19.1 4.19.3 4.20.2", ""},
		"full: true, minVersion: 4.20":                {"4.20.0 4.20.1 4.20.2", ""},
		"minVersion: v4.20.1, maxVersion: \"4.20.1\"": {"4.20.1", ""},
	} {
		c, err := chooseFrom(t, testServices(t), "    channels: [{name: stable-4.20, "+entry+"}]\n")
		fail.On(t, err)
		if got := versionsOf(c); got != want.releases {
			t.Errorf("%s: selected %s, want %s", entry, got, want.releases)
		}
		if found := slices.Contains(c.notes, want.note); found != (want.note != "") || len(c.warnings) > 0 {
			t.Errorf("%s: notes %q, warnings %q", entry, c.notes, c.warnings)
		}
	}
}

// TestShortestPathWithoutPath checks that both ends of a range are mirrored with a warning if no path
// leads from one to the other.
func TestShortestPathWithoutPath(t *testing.T) {
	t.Parallel()
	c, err := chooseFrom(t, testServices(t), "    channels: [{name: stable-4.20, minVersion: 4.18.1, maxVersion: 4.18.2, shortestPath: true}, {name: stable-4.18, minVersion: 4.18.1, maxVersion: 4.18.1}]\n")
	if err != nil || len(c.warnings) > 0 {
		t.Fatalf("a path: %v, %v", c, err)
	}
	c, err = chooseFrom(t, testServices(t), "    channels: [{name: stable-4.20, minVersion: 4.19.2, maxVersion: 4.19.3, shortestPath: true}]\n")
	if err != nil || versionsOf(c) != "4.19.2 4.19.3" || len(pathsOf(c)) != 0 {
		t.Fatalf("%v, %v", c, err)
	}
	const want = "imageset.yaml:5: channel stable-4.20 for amd64: only 4.19.2 and 4.19.3 are mirrored: there is no upgrade path from 4.19.2 to 4.19.3"
	if len(c.warnings) != 1 || !strings.HasPrefix(c.warnings[0], want) || !slices.Contains(c.notes, c.warnings[0]) {
		t.Errorf("warnings %q", c.warnings)
	}
}
