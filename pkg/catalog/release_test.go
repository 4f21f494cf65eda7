package catalog_test

import (
	"strings"
	"testing"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// Each line sorts before the next; those on one line, separated by =, are equal. A space separates
// version and release.
func TestVersionReleaseOrder(t *testing.T) {
	steps := []string{
		"1.0.0-rc.1",
		"1.0.0-rc.1+1",
		"1.0.0=1.0.0+01=1.0.0+a.very.long.one.that.is.none",
		"1.0.0 2=1.0.0+2=1.0.0+5 2",
		"1.0.0 10",
		"1.0.0+10.1",
		"1.0.0+abc",
		"1.0.1",
	}
	read := func(text string) catalog.VersionRelease {
		version, release, _ := strings.Cut(text, " ")
		v, err := semver.Parse(version)
		fail.On(t, err)
		return catalog.NewVersionRelease(v, release)
	}
	for i, left := range steps {
		for j, right := range steps {
			for a := range strings.SplitSeq(left, "=") {
				for b := range strings.SplitSeq(right, "=") {
					got := read(a).Compare(read(b))
					if (got < 0) != (i < j) || (got > 0) != (i > j) {
						t.Errorf("comparing %q with %q gives %d", a, b, got)
					}
				}
			}
		}
	}
}

func TestParseRelease(t *testing.T) {
	for text, want := range map[string]string{
		"1.rc.2":                "",
		"":                      `segment ""`,
		"1..2":                  `segment ""`,
		"01":                    `segment "01"`,
		"1_2":                   `segment "1_2"`,
		strings.Repeat("1", 20): "",
		strings.Repeat("1", 21): "longer than 20",
	} {
		segments, err := catalog.ParseRelease(text)
		switch {
		case want == "" && (err != nil || len(segments) != strings.Count(text, ".")+1):
			t.Errorf("%q: %v, %v", text, segments, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}
