package install

import (
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/resources"
)

const (
	hostedSource = "https://github.com/openshift/hypershift/blob/main/api/hypershift/v1beta1/hostedcluster_types.go"
	poolSource   = "https://github.com/openshift/hypershift/blob/main/api/hypershift/v1beta1/nodepool_types.go"
	hostedCA     = "mirror-ca"
	// maxContentSources is how many imageContentSources a HostedCluster may have.
	maxContentSources = 255
)

type hostedClusterPatch struct {
	Spec hostedClusterSpec `yaml:"spec"`
}

type hostedClusterSpec struct {
	Release       hostedRelease  `yaml:"release"`
	Contents      []digestSource `yaml:"imageContentSources"`
	CA            *localRef      `yaml:"additionalTrustBundle,omitempty"`
	Placement     string         `yaml:"olmCatalogPlacement"`
	Configuration struct {
		OperatorHub struct {
			Disable bool `yaml:"disableAllDefaultSources"`
		} `yaml:"operatorhub"`
	} `yaml:"configuration"`
}

type hostedRelease struct {
	Image string `yaml:"image"`
}

type nodePoolPatch struct {
	Spec struct {
		Release hostedRelease `yaml:"release"`
	} `yaml:"spec"`
}

// hostedCluster writes the fields of a HostedCluster and its NodePools. A hosted cluster reads no mirror sets,
// so that its sources are complete here. The nodes have only mirrors for pulls by digest.
func (w *writer) hostedCluster() {
	sources := w.digestSources()
	if n := len(sources); n > maxContentSources {
		sources = slices.DeleteFunc(sources, func(d digestSource) bool {
			return !slices.ContainsFunc(w.in.Mirrors, func(m resources.SourceMirrors) bool {
				return m.Source == d.Source && slices.Contains(m.Kinds, "release")
			})
		})
		w.notes = append(w.notes, fmt.Sprintf("hosted-cluster/hosted-cluster-patch.yaml has the %d sources of the releases, since a HostedCluster can have only %d, and the mirror has %d", len(sources), maxContentSources, n))
	}
	newest := w.releases[0]
	patch := hostedClusterPatch{hostedClusterSpec{Release: hostedRelease{newest.image()}, Contents: sources, Placement: "guest"}}
	patch.Spec.Configuration.OperatorHub.Disable = true
	comment := []string{
		"Fields of a HostedCluster for release " + newest.Version + "; cluster-image-sets has the images of the others. Merge them into the",
		"manifest before the cluster is created: olmCatalogPlacement cannot be changed later. Fields: " + hostedSource,
	}
	if len(w.in.CA) > 0 {
		patch.Spec.CA = &localRef{hostedCA}
		w.yaml("hosted-cluster/mirror-ca.yaml", []string{
			"Apply this in the namespace of the HostedCluster. Its additionalTrustBundle is this ConfigMap. Fields: " + hostedSource,
		}, configMap{"v1", "ConfigMap", objectMeta{Name: hostedCA}, map[string]string{"ca-bundle.crt": string(w.in.CA)}})
	} else {
		comment = append(comment, "additionalTrustBundle.name is a ConfigMap with the key ca-bundle.crt: the CA that signed the mirror's certificate.")
	}
	w.yaml("hosted-cluster/hosted-cluster-patch.yaml", comment, patch)
	var pool nodePoolPatch
	pool.Spec.Release.Image = newest.image()
	w.yaml("hosted-cluster/node-pool-patch.yaml", []string{
		"oc patch nodepool NAME --type merge --patch-file node-pool-patch.yaml",
		"Fields: " + poolSource,
	}, pool)
}
