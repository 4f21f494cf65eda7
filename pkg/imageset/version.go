package imageset

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/blang/semver/v4"
)

// version is the grammar of the version of a bundle or release: semantic versions, parsed as strictly
// as OLM parses versions of bundles.
func version() grammar { return versions(repairVersion, 3) }

// minimum and maximum are the grammars of minVersion and maxVersion. A version without all numbers
// (4.18) begins with the lowest and ends with the highest version that it may be.
func minimum() grammar { return versions(repairVersion, 1) }

func maximum() grammar { return versions(highestOf, 1) }

// versions is the grammar of versions. repair returns the semantic version for another notation with at
// least some numbers, or "".
func versions(repair func(string) string, numbers int) grammar {
	return grammar{
		max:     253,
		pattern: `^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)([-+].*)?$`,
		repair: func(s string) (string, string) {
			_, err := semver.Parse(s)
			core, _, _ := strings.Cut(s, "-")
			if better := repair(s); err != nil && better != "" && strings.Count(core, ".") >= numbers-1 {
				if VersionText(better) != better {
					return better, "means all of " + VersionText(better)
				}
				return better, "is not a semantic version"
			}
			return s, ""
		},
		check: func(s string) (string, string) {
			_, err := semver.Parse(s)
			if err == nil {
				return "", ""
			}
			message := quote(s) + " is not a semantic version"
			if better := repairVersion(s); better != "" {
				return message, fmt.Sprintf("write %q", better)
			}
			return message, `write it as "1.2.3" or "1.2.3-rc.1"`
		},
	}
}

// highest is the highest number in a version that Gantry writes. No version has a number like it.
const highest = "999999999999999"

// highestOf is repairVersion for a maximum: "4.18" is every version of 4.18.
func highestOf(s string) string {
	m := looseVersion().FindStringSubmatch(s)
	if len(m) == 0 || m[3] != "" || m[4] != "" {
		return repairVersion(s)
	}
	if m[2] == "" {
		s += "." + highest
	}
	return repairVersion(s + "." + highest)
}

// VersionText returns a version as a message shows it: the highest version that a maximum such as 4.18 may be
// as "4.18".
func VersionText(version string) string {
	return strings.TrimSuffix(strings.TrimSuffix(version, "."+highest), "."+highest)
}

var looseVersion = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[vV=]*([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?([-+].*)?$`)
})

// repairVersion returns the semantic version for a common notation ("1.2.0" for "v1.2"), or "".
func repairVersion(s string) string {
	m := looseVersion().FindStringSubmatch(s)
	if m == nil {
		return ""
	}
	var parts []string
	for _, part := range m[1:4] {
		part = strings.TrimLeft(part, "0")
		parts = append(parts, cmp.Or(part, "0"))
	}
	better := strings.Join(parts, ".") + m[4]
	if _, err := semver.Parse(better); err != nil {
		return ""
	}
	return better
}

// checkRange reports a range of the package or channel at path whose minimum is above its maximum.
func checkRange(r *reader, path string, v Range) {
	for _, old := range []string{"minBundle", "startingBundle", "versions"} {
		for _, end := range []string{"minVersion", "maxVersion"} {
			_, both := r.at[join(path, old)]
			if _, ok := r.at[join(path, end)]; ok && both && (end == "minVersion" || old == "versions") {
				r.fault(join(path, old), "cannot be combined with "+end, "remove one of the two")
			}
		}
	}
	if v.Min == "" || v.Max == "" {
		return
	}
	low, err := semver.Parse(v.Min)
	high, err2 := semver.Parse(v.Max)
	if err == nil && err2 == nil && low.GT(high) {
		r.fault(join(path, "maxVersion"), fmt.Sprintf("%s is below minVersion %s, so no version is in the range", VersionText(v.Max), v.Min),
			"swap the two")
	}
}
