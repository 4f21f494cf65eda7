package validate

import (
	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// version checks a bundle's olm.package property, and returns the version that must be unique in
// the package: with its build metadata and its release. It returns "" if there is none.
func (r *report) version(b *catalog.Bundle) string {
	own, found := packageProperty(b)
	if found != 1 {
		r.add(BundlePackage, b.Meta, "package %q, bundle %q must have exactly one olm.package property, but has %d", b.Package, b.Name, found)
		return ""
	}
	if own == nil {
		return "" // its value is invalid, which is reported elsewhere
	}
	if own.PackageName != b.Package {
		r.add(BundlePackage, b.Meta, "package %q, bundle %q: the olm.package property names package %q", b.Package, b.Name, own.PackageName)
	}
	version, err := semver.Parse(own.Version)
	if err != nil {
		r.add(BundleVersion, b.Meta, "package %q, bundle %q: %q is not a semantic version: %v", b.Package, b.Name, own.Version, err)
		return ""
	}
	if own.Release == "" {
		return version.String()
	}
	if _, err := catalog.ParseRelease(own.Release); err != nil {
		r.add(BundleVersion, b.Meta, "package %q, bundle %q: the release %q: %v", b.Package, b.Name, own.Release, err)
		return ""
	}
	if len(version.Build) > 0 {
		r.add(BundleVersion, b.Meta, "package %q, bundle %q: version %s has build metadata, which cannot be combined with the release %q", b.Package, b.Name, version, own.Release)
	}
	full := version.String() + "-" + own.Release
	if want := b.Package + "-v" + full; b.Name != want {
		r.add(BundleName, b.Meta, "package %q: bundle %q has a release and must be named %q", b.Package, b.Name, want)
	}
	return full
}
