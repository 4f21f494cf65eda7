package release

import (
	"fmt"

	"github.com/blang/semver/v4"
)

// Kubernetes returns the minor version of Kubernetes, "1.33", that a release is built on, given its
// version, "4.20.5" or "4.20"; "" if it is unknown. OpenShift and OKD 4.y are built on 1.(y+13) since
// 4.3.
func Kubernetes(version string) string {
	v, err := semver.ParseTolerant(version)
	if err != nil || v.Major != 4 || v.Minor < 3 {
		return ""
	}
	return fmt.Sprintf("1.%d", v.Minor+13)
}
