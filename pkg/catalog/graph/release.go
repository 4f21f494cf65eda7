package graph

import (
	"strings"

	"github.com/blang/semver/v4"
)

// maxRelease is how long a release may be, as in the ClusterServiceVersion API.
const maxRelease = 20

// A numbered is a version with its release, which is how OLM v1 puts bundles in
// order (operator-controller, internal/operator-controller/bundle).
type numbered struct {
	version semver.Version
	release []semver.PRVersion
}

// number takes the explicit release, or else the build metadata of the version,
// if that reads as a release: dot-separated segments as in a pre-release, twenty
// characters at most. Other build metadata is no order.
func number(version semver.Version, release string) numbered {
	n := numbered{version: version}
	if release == "" {
		release = strings.Join(version.Build, ".")
	}
	if release == "" || len(release) > maxRelease {
		return n
	}
	for _, segment := range strings.Split(release, ".") {
		part, err := semver.NewPRVersion(segment)
		if err != nil {
			n.release = nil
			return n
		}
		n.release = append(n.release, part)
	}
	return n
}

// compare orders by version, then by release; no release comes before any.
func (n numbered) compare(o numbered) int {
	if c := n.version.Compare(o.version); c != 0 {
		return c
	}
	switch {
	case len(n.release) == 0 && len(o.release) == 0:
		return 0
	case len(n.release) == 0:
		return -1
	case len(o.release) == 0:
		return 1
	}
	return semver.Version{Pre: n.release}.Compare(semver.Version{Pre: o.release})
}
