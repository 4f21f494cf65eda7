package catalog

import (
	"fmt"
	"strings"

	"github.com/blang/semver/v4"
)

// maxRelease is how long a release may be, as in the ClusterServiceVersion API.
const maxRelease = 20

// ParseRelease takes a release apart: segments with dots between them, each as
// in the pre-release part of a semantic version, twenty characters at most.
func ParseRelease(text string) ([]semver.PRVersion, error) {
	if len(text) > maxRelease {
		return nil, fmt.Errorf("it is longer than %d characters", maxRelease)
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

// A VersionRelease is what OLM v1 puts the bundles of a package in order by
// (operator-controller, internal/operator-controller/bundle).
type VersionRelease struct {
	version semver.Version
	release []semver.PRVersion
}

// NewVersionRelease takes a version and the release beside it, or where that is
// empty the build metadata of the version, if it reads as a release. Other build
// metadata is no order.
func NewVersionRelease(version semver.Version, release string) VersionRelease {
	if release == "" {
		release = strings.Join(version.Build, ".")
	}
	v := VersionRelease{version: version}
	if segments, err := ParseRelease(release); err == nil {
		v.release = segments
	}
	return v
}

// Compare orders by version, then by release; no release comes before any.
func (v VersionRelease) Compare(o VersionRelease) int {
	if c := v.version.Compare(o.version); c != 0 {
		return c
	}
	if len(v.release) == 0 || len(o.release) == 0 {
		return len(v.release) - len(o.release)
	}
	return semver.Version{Pre: v.release}.Compare(semver.Version{Pre: o.release})
}
