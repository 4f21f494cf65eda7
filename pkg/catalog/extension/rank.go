package extension

import (
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// maxRelease is how long a release may be (operator-registry, declcfg.Release).
const maxRelease = 20

// A rank is what OLM v1 puts bundles in order by: the version, then the release.
type rank struct {
	version semver.Version
	release []semver.PRVersion
}

// rankOf takes the release, or where there is none the build metadata of the
// version, if that reads as one: segments as those of a pre-release, at most
// twenty characters in all. It then is no build metadata any more.
func rankOf(version semver.Version, release string) rank {
	legacy := release == ""
	if legacy {
		release = strings.Join(version.Build, ".")
	}
	r := rank{version: version}
	if release == "" || len(release) > maxRelease {
		return r
	}
	var parts []semver.PRVersion
	for segment := range strings.SplitSeq(release, ".") {
		part, err := semver.NewPRVersion(segment)
		if err != nil {
			return r
		}
		parts = append(parts, part)
	}
	if r.release = parts; legacy {
		r.version.Build = nil
	}
	return r
}

// compare puts a bundle without a release before one with.
func (r rank) compare(o rank) int {
	if c := r.version.Compare(o.version); c != 0 {
		return c
	}
	if (len(r.release) == 0) != (len(o.release) == 0) {
		return len(r.release) - len(o.release)
	}
	return semver.Version{Pre: r.release}.Compare(semver.Version{Pre: o.release})
}

// compareBundles puts the bundle first that OLM v1 prefers: not deprecated, then
// of the higher version; one whose version cannot be read comes last of its kind.
func compareBundles(a, b *catalog.Bundle, deprecated map[string]string) int {
	_, oldA := deprecated[a.Name]
	_, oldB := deprecated[b.Name]
	switch {
	case oldA != oldB:
		return sign(oldA)
	case (a.VersionErr != nil) != (b.VersionErr != nil):
		return sign(a.VersionErr != nil)
	case a.VersionErr != nil:
		return 0
	}
	return rankOf(b.Version, b.Release).compare(rankOf(a.Version, a.Release))
}

func sign(later bool) int {
	if later {
		return 1
	}
	return -1
}

// deprecations are the messages of the bundles that a package deprecates. OLM
// v1 looks at the first olm.deprecations object alone.
func deprecations(p *catalog.Package) map[string]string {
	all := map[string]string{}
	if len(p.Deprecations) > 0 {
		for _, e := range p.Deprecations[0].Entries {
			if e.Schema == catalog.SchemaBundle {
				all[e.Name] = e.Message
			}
		}
	}
	return all
}
