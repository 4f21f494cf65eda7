package selection

import (
	"fmt"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
)

// BlockedVersion returns the minor version of OpenShift, "4.21", to which one of the clusters is to be updated although
// something blocks that: a condition or override of the platform, or an installed operator for which the mirror has
// no bundle that fits the version. It is "" if no cluster runs an earlier minor version, or nothing certainly
// blocks the update.
func (s *Selected) BlockedVersion(r upgrade.Report, clusterVersion string) string {
	to, err := semver.ParseTolerant(clusterVersion)
	if err != nil {
		return ""
	}
	later := slices.ContainsFunc(s.Releases, func(c installed.ClusterVersion) bool {
		runs, err := semver.ParseTolerant(c.Version)
		return err == nil && (runs.Major < to.Major || runs.Major == to.Major && runs.Minor < to.Minor)
	})
	if !later || len(r.Platform) == 0 && !slices.ContainsFunc(r.Operators, keepsVersion) {
		return ""
	}
	return fmt.Sprintf("%d.%d", to.Major, to.Minor)
}

// keepsVersion reports whether an operator keeps its cluster from the version, also after all updates that the
// mirror has for it.
func keepsVersion(o upgrade.Result) bool {
	return len(o.Paths) > 0 && slices.ContainsFunc(o.Paths[0].Blocks, func(b upgrade.Block) bool {
		return b.Kind == upgrade.MaxOpenShift && !b.Possible
	})
}
