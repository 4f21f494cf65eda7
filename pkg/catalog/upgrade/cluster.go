package upgrade

import (
	"fmt"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/release"
)

// A cluster is the version of a cluster for which blocks are determined.
type cluster struct {
	known bool
	// openshift has only major and minor, as in the properties of bundles.
	openshift semver.Version
	// kube is major and minor of the Kubernetes version, valid if kubeKnown.
	kube      semver.Version
	kubeKnown bool
}

// clusterOf reads Options.ClusterVersion.
func clusterOf(text string) (cluster, error) {
	if text == "" {
		return cluster{}, nil
	}
	v, err := semver.ParseTolerant(text)
	if err != nil {
		return cluster{}, fmt.Errorf("reading the cluster's version: %q is not an OpenShift version; write it as 4.19.3 or 4.19", text)
	}
	c := cluster{known: true, openshift: semver.Version{Major: v.Major, Minor: v.Minor}}
	if kube, err := semver.ParseTolerant(release.Kubernetes(minor(c.openshift))); err == nil {
		c.kube, c.kubeKnown = kube, true
	}
	return c, nil
}

// String returns the version as "4.19".
func (c cluster) String() string { return minor(c.openshift) }

func minor(v semver.Version) string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// kubernetes returns the version as "1.32", or "" if unknown.
func (c cluster) kubernetes() string {
	if !c.kubeKnown {
		return ""
	}
	return minor(c.kube)
}
