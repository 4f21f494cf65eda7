package catalog

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/blang/semver/v4"
)

// maxRelease is the maximum length of a release, as in the ClusterServiceVersion API.
const maxRelease = 20

// ParseRelease parses a release: dot-separated segments, each as in the pre-release part of a
// semantic version, at most twenty characters in total.
func ParseRelease(text string) ([]semver.PRVersion, error) {
	if len(text) > maxRelease {
		return nil, fmt.Errorf("longer than %d characters", maxRelease)
	}
	var segments []semver.PRVersion
	for segment := range strings.SplitSeq(text, ".") {
		s, err := semver.NewPRVersion(segment)
		if err != nil {
			return nil, fmt.Errorf("segment %q: %w", segment, err)
		}
		segments = append(segments, s)
	}
	return segments, nil
}

// A VersionRelease is the sort key of the bundles of a package in OLM v1 (operator-controller,
// internal/operator-controller/bundle).
type VersionRelease struct {
	version semver.Version
	release []semver.PRVersion
}

// NewVersionRelease returns the key for a version and a release. If the release is empty, the build
// metadata of the version is used, if it is a valid release. Other build metadata does not count.
func NewVersionRelease(version semver.Version, release string) VersionRelease {
	release = cmp.Or(release, strings.Join(version.Build, "."))
	v := VersionRelease{version: version}
	if segments, err := ParseRelease(release); err == nil {
		v.release = segments
	}
	return v
}

// Compare orders by version, then by release; no release comes first.
func (v VersionRelease) Compare(o VersionRelease) int {
	if c := v.version.Compare(o.version); c != 0 {
		return c
	}
	if len(v.release) == 0 || len(o.release) == 0 {
		return len(v.release) - len(o.release)
	}
	return semver.Version{Pre: v.release}.Compare(semver.Version{Pre: o.release})
}
