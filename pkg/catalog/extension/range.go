package extension

import (
	"fmt"
	"regexp"
	"strings"

	masterminds "github.com/Masterminds/semver/v3"
	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// Range parses the version range of a ClusterExtension in the syntax of
// github.com/Masterminds/semver: `>=1.2.0 <2.0.0`, `1.2.x`, `~1.2`, `^1 || ^2`. A bare version is
// that version only, without updates. A range includes pre-releases only if it names one itself;
// build metadata and releases are ignored. "" is any version.
func Range(text string) (func(semver.Version) bool, error) {
	if text == "" {
		return func(semver.Version) bool { return true }, nil
	}
	if len(text) > maxRange {
		return nil, fmt.Errorf("a version range has at most %d characters, and this one has %d", maxRange, len(text))
	}
	constraint, err := masterminds.NewConstraint(text)
	if err != nil {
		return nil, fmt.Errorf("desired version range %q is invalid: %w", text, err)
	}
	if !rangeSyntax().MatchString(text) {
		return nil, fmt.Errorf("%q is not a version range that clusters accept; use comparisons such as \">=1.2.0 <2.0.0\"", text)
	}
	return func(v semver.Version) bool {
		pre := elements.Map(v.Pre, func(p semver.PRVersion) string { return p.String() })
		return constraint.Check(masterminds.New(v.Major, v.Minor, v.Patch, strings.Join(pre, "."), ""))
	}, nil
}

// maxRange is the maximum length of a range in the API.
const maxRange = 64

// rangeSyntax is the syntax that the API server accepts. It is narrower than Masterminds': hyphen
// ranges are rejected.
func rangeSyntax() *regexp.Regexp {
	const (
		operator = `(=||!=|>|<|>=|=>|<=|=<|~|~>|\^)`
		suffix   = `(-([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?(\+([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?`
		part     = `(0|[1-9]\d*|x|X|\*)`
		version  = `v?` + part + `(\.` + part + `)?(\.` + part + `)?` + suffix
		one      = operator + `\s*` + version + `\s*`
	)
	return regexp.MustCompile(`^\s*` + one + `((\s+|,\s*|\s*\|\|\s*)` + one + `)*$`)
}
