package mirroring

import (
	"github.com/gantry-mirror/gantry/pkg/cluster"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// manifests returns how the cluster resources of a run are written.
func (o *Options) manifests() cluster.ManifestOptions {
	return cluster.ManifestOptions{Options: resources.Options{
		MirrorSourcePolicy: o.MirrorSourcePolicy, ImagePolicies: o.ImagePolicies, ImagePolicyNamespace: o.ImagePolicyNamespace, ICSP: o.ICSP,
	}, Target: o.For}
}
