package extension

import (
	"fmt"
	"regexp"
	"strings"

	masterminds "github.com/Masterminds/semver/v3"
	"github.com/blang/semver/v4"
)

// Range reads the range of versions of a ClusterExtension, which is
// github.com/Masterminds/semver's: `>=1.2.0 <2.0.0`, `1.2.x`, `~1.2`, `^1 || ^2`.
// A bare version means that version and no update. Pre-releases lie in it only
// if it names one itself; build metadata and releases count for nothing. "" is
// any version.
func Range(text string) (func(semver.Version) bool, error) {
	if text == "" {
		return func(semver.Version) bool { return true }, nil
	}
	if len(text) > maxRange {
		return nil, fmt.Errorf("a range of versions has at most %d characters, and this has %d", maxRange, len(text))
	}
	constraint, err := masterminds.NewConstraint(text)
	if err != nil {
		return nil, fmt.Errorf("desired version range %q is invalid: %w", text, err)
	}
	if !written().MatchString(text) {
		return nil, fmt.Errorf("%q is not a range of versions that a cluster takes; write it with comparisons, such as \">=1.2.0 <2.0.0\"", text)
	}
	return func(v semver.Version) bool {
		var pre []string
		for _, p := range v.Pre {
			pre = append(pre, p.String())
		}
		return constraint.Check(masterminds.New(v.Major, v.Minor, v.Patch, strings.Join(pre, "."), ""))
	}, nil
}

// maxRange is how long a range may be for the API server.
const maxRange = 64

// written is how the API server wants a range: it takes less than Masterminds does,
// no hyphen ranges.
func written() *regexp.Regexp {
	const (
		operator = `(=||!=|>|<|>=|=>|<=|=<|~|~>|\^)`
		suffix   = `(-([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?(\+([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?`
		part     = `(0|[1-9]\d*|x|X|\*)`
		version  = `v?` + part + `(\.` + part + `)?(\.` + part + `)?` + suffix
		one      = operator + `\s*` + version + `\s*`
	)
	return regexp.MustCompile(`^\s*` + one + `((\s+|,\s*|\s*\|\|\s*)` + one + `)*$`)
}
