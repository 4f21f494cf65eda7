package graph

import (
	"slices"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// OfVersion returns the bundles that a cluster may run if only the version is known: those with
// this version, only those with the same build metadata if there are any, in the order of the
// package.
func OfVersion(p *catalog.Package, v semver.Version) []*catalog.Bundle {
	var exact, equal []*catalog.Bundle
	for _, b := range p.Bundles {
		if b.VersionErr != nil || b.Version.NE(v) {
			continue
		}
		if equal = append(equal, b); slices.Equal(b.Version.Build, v.Build) {
			exact = append(exact, b)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return equal
}
