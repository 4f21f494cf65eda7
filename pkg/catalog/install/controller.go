package install

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// A Controller is a minor version of operator-controller, which is OLM v1. The zero value is an unknown one.
type Controller struct{ Major, Minor int }

// The versions of OpenShift with operator-controllers whose behavior is known. The branches of
// openshift/operator-framework-operator-controller have the upstream commits that each was built from, by July 2026: 4.18
// has 1.0, 4.19 has 1.2, 4.20 has 1.4, 4.21 has 1.7, 4.22 has 1.8 with commits up to April 2026, 4.23, 5.0 and 5.1 have 1.10
// with commits up to July 1, 2026. Versions before 4.18 have an API that was not yet v1.
var openShiftControllers = map[string]Controller{
	"4.18": {1, 0}, "4.19": {1, 2}, "4.20": {1, 4}, "4.21": {1, 7}, "4.22": {1, 8}, "4.23": {1, 10}, "5.0": {1, 10}, "5.1": {1, 10},
}

// OpenShiftWithAccount are the versions of OpenShift that are known to use the account of a ClusterExtension.
const OpenShiftWithAccount = "4.18 to " + lastOpenShift

// lastOpenShift is the last of these versions.
const lastOpenShift = "5.1"

const (
	openShiftPrefix  = "openshift-"
	controllerPrefix = "operator-controller-"
)

// ParseController reads "operator-controller-1.11", or "openshift-4.20" as the version that it has. The note is about what is
// assumed, or "".
func ParseController(text string) (c Controller, note string, err error) {
	const want = "want openshift-VERSION or operator-controller-VERSION, such as openshift-4.20 or operator-controller-1.11"
	if version, ok := strings.CutPrefix(text, controllerPrefix); ok {
		if c, ok = parseMinor(strings.TrimPrefix(version, "v")); !ok {
			return c, "", fmt.Errorf("%q: %s", text, want)
		}
		if c.Major < 1 {
			return c, "", fmt.Errorf("%q: operator-controller before 1.0 had another API", text)
		}
		return c, "", nil
	}
	version, ok := strings.CutPrefix(text, openShiftPrefix)
	v, isVersion := parseMinor(version)
	if !ok || !isVersion {
		return c, "", fmt.Errorf("%q: %s", text, want)
	}
	if known, ok := openShiftControllers[version]; ok {
		return known, "", nil
	}
	last, _ := parseMinor(lastOpenShift)
	if v.compare(last) < 0 {
		return c, "", fmt.Errorf("%q: OpenShift has ClusterExtensions of version v1 since 4.18", text)
	}
	return openShiftControllers[lastOpenShift], fmt.Sprintf("which operator-controller OpenShift %s has was not known when this program was built: the one of %s is assumed", version, lastOpenShift), nil
}

// parseMinor reads "1.11" or "1.11.0".
func parseMinor(text string) (c Controller, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) < 2 || len(parts) > 3 {
		return c, false
	}
	for i, to := range []*int{&c.Major, &c.Minor, new(int)}[:len(parts)] {
		n, err := strconv.ParseUint(parts[i], 10, 16)
		if err != nil {
			return c, false
		}
		*to = int(n)
	}
	return c, true
}

func (c Controller) compare(d Controller) int {
	return cmp.Or(cmp.Compare(c.Major, d.Major), cmp.Compare(c.Minor, d.Minor))
}

// String returns "operator-controller 1.11".
func (c Controller) String() string {
	return fmt.Sprintf("operator-controller %d.%d", c.Major, c.Minor)
}

// UsesAccount reports whether the controller installs with the ServiceAccount of a ClusterExtension, which is required then.
// Version 1.11 made spec.serviceAccount optional and ignores it: it has all rights itself (operator-controller 1bbe7886).
// An unknown version may use it.
func (c Controller) UsesAccount() bool { return c.compare(Controller{1, 11}) < 0 }

// UncheckedNote returns a sentence about a version that does not check the permissions of the account before it installs, or
// "".
func (c Controller) UncheckedNote() string {
	if c == (Controller{}) || c.checksAccount() || !c.UsesAccount() {
		return ""
	}
	return c.String() + " does not check the permissions of the account beforehand: without them, the installation fails halfway"
}

// checksAccount reports whether the controller can check the permissions of the account beforehand, with the feature gate
// PreflightPermissions, which came with 1.2 and went with 1.11. Without it, it fails when it installs.
func (c Controller) checksAccount() bool { return c.compare(Controller{1, 2}) >= 0 && c.UsesAccount() }
