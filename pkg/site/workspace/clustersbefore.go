package workspace

import (
	"github.com/gantry-mirror/gantry/pkg/state"
)

// A ClustersBefore is what the last run of an image set recorded of clusters; nil clusters if that is unknown.
type ClustersBefore struct {
	Name     string
	Clusters *state.Clusters
}
