package filter

import (
	"testing"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

func TestSpan(t *testing.T) {
	versions := []semver.Version{}
	for _, v := range []string{"2.9.0", "1.2.0", "2.9.0-1", "0.12.1+0.1749", "0.12.1", "3.0.0"} {
		versions = append(versions, semver.MustParse(v))
	}
	for _, tc := range []struct {
		r             imageset.Range
		has, hasNot   string
		text, nearest string
	}{
		{imageset.Range{Min: "2.9.0-1"}, "2.9.0-1", "2.9.0-0", "2.9.0-1 or higher", "; the nearest is 1.2.0"},
		{imageset.Range{Min: "2.9.0"}, "2.9.0+b", "2.9.0-1", "2.9.0 or higher", "; the nearest is 2.9.0-1"},
		{imageset.Range{Max: "1.0.0"}, "1.0.0-rc1", "1.0.1-rc1", "1.0.0 or lower", "; the nearest is 1.2.0"},
		{imageset.Range{Min: "1.2.1", Max: "2.0.0"}, "2.0.0", "2.0.1", "between 1.2.1 and 2.0.0", "; the nearest are 1.2.0 and 2.9.0-1"},
		{imageset.Range{Min: "0.12.1", Max: "0.12.1+x"}, "0.12.1+y", "0.12.1-y", "0.12.1", "; the nearest is 1.2.0"},
		{imageset.Range{Min: "9.0.0", Max: "9.0.0"}, "9.0.0", "9.0.1", "9.0.0", "; the nearest is 3.0.0"},
	} {
		s, err := newSpan(tc.r)
		fail.On(t, err)
		if !s.has(semver.MustParse(tc.has)) || s.has(semver.MustParse(tc.hasNot)) {
			t.Errorf("%v: has %s, has not %s", tc.r, tc.has, tc.hasNot)
		}
		if s.String() != tc.text || s.nearest(versions) != tc.nearest {
			t.Errorf("%v: %q, %q", tc.r, s.String(), s.nearest(versions))
		}
	}
	if s, _ := newSpan(imageset.Range{Min: "1.0.0"}); s.nearest(nil) != "" {
		t.Error("nothing has a nearest")
	}
	if _, err := newSpan(imageset.Range{Max: "v1"}); err == nil {
		t.Error("v1 is no version")
	}
}
