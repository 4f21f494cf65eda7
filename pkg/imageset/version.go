package imageset

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/blang/semver/v4"
)

// version is the grammar of minVersion and maxVersion: semantic versions as
// OLM reads those of bundles, which is strict.
func version() grammar {
	return grammar{
		max:     253,
		pattern: `^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)([-+].*)?$`,
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

var looseVersion = regexp.MustCompile(`^[vV=]*([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?([-+].*)?$`)

// repairVersion turns what people write ("v1.2") into the version that they
// mean ("1.2.0"), or "".
func repairVersion(s string) string {
	m := looseVersion.FindStringSubmatch(strings.TrimSpace(s))
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

// checkRange reports a range of the package or channel at path whose ends are
// in the wrong order.
func checkRange(r *reader, path string, v Range) {
	if v.Min == "" || v.Max == "" {
		return
	}
	low, err := semver.Parse(v.Min)
	high, err2 := semver.Parse(v.Max)
	if err == nil && err2 == nil && low.GT(high) {
		r.fault(join(path, "maxVersion"), fmt.Sprintf("%s is below minVersion %s: no version is in between", v.Max, v.Min),
			"exchange the two")
	}
}
