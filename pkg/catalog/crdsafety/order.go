package crdsafety

import (
	"cmp"
	"strconv"
	"strings"
)

// compareNames orders versions as Kubernetes does, the oldest first: other names, then alpha, beta and
// stable versions, each by their numbers
// (https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#version-priority).
func compareNames(a, b string) int {
	x, xok := parseName(a)
	y, yok := parseName(b)
	switch {
	case xok && yok:
		return cmp.Or(cmp.Compare(x.stability, y.stability), cmp.Compare(x.major, y.major), cmp.Compare(x.minor, y.minor))
	case xok:
		return 1
	case yok:
		return -1
	}
	return strings.Compare(b, a)
}

// A versionName is a name such as v2beta1. Its stability is 0 for alpha, 1 for beta and 2 otherwise.
type versionName struct{ stability, major, minor int }

func parseName(name string) (versionName, bool) {
	rest, ok := strings.CutPrefix(name, "v")
	if !ok {
		return versionName{}, false
	}
	for stability, word := range []string{"alpha", "beta"} {
		if major, minor, found := strings.Cut(rest, word); found {
			x, errMajor := strconv.Atoi(major)
			y, errMinor := strconv.Atoi(minor)
			return versionName{stability, x, y}, errMajor == nil && errMinor == nil
		}
	}
	x, err := strconv.Atoi(rest)
	return versionName{2, x, 0}, err == nil
}
