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
	// later says that the version of Kubernetes is unknown, and at least lastKubernetes.
	later bool
}

// lastKubernetes is the version of Kubernetes in OpenShift 4.20, which all releases of later major versions
// exceed.
const lastKubernetes = 33

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
	c.later = !c.kubeKnown && v.Major > 4
	return c, nil
}

// hasAtLeast reports whether the cluster certainly has this minor version of Kubernetes 1 or a later one.
func (c cluster) hasAtLeast(minor uint64) bool {
	return c.kubeKnown && c.kube.GTE(semver.Version{Major: 1, Minor: minor}) || c.later && minor <= lastKubernetes
}

// unknownKubernetes returns a note if the version of Kubernetes of the cluster is unknown, else "".
func (c cluster) unknownKubernetes() string {
	if !c.known || c.kubeKnown {
		return ""
	}
	return fmt.Sprintf("the version of Kubernetes in OpenShift %s is unknown: whether it fits operators (minKubeVersion, nativeAPIs) is not certain", c)
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
