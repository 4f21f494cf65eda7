package installed

import "cmp"

// The kind that says which release of the platform a cluster runs, and its group.
const (
	groupConfig        = "config.openshift.io"
	kindClusterVersion = "ClusterVersion"
)

// A ClusterVersion is a release of the platform that a cluster runs, or that it is
// being updated to.
type ClusterVersion struct {
	Version string
	// Channel is what the cluster follows; "" is none.
	Channel string
	// Multi says that the cluster runs the payload of all architectures. Where it is
	// false the architecture is not known: older clusters do not tell.
	Multi bool
	// Origin is the object for messages: "FILE: ClusterVersion ID".
	Origin string
}

// Values of the API (github.com/openshift/api, config/v1).
const (
	stateCompleted = "Completed"
	archMulti      = "Multi"
)

// clusterVersions reads what a ClusterVersion says: the release that was completed
// last, and before it the one that the cluster is on its way to, if it is. It comes
// from both to other releases: where the update cannot go on, from the former. A
// cluster that has just been asked for has none.
func clusterVersions(name string, o object) ([]ClusterVersion, error) {
	var spec struct {
		ClusterID string `json:"clusterID"`
		Channel   string `json:"channel"`
	}
	var status struct {
		Desired struct {
			Version      string `json:"version"`
			Architecture string `json:"architecture"`
		} `json:"desired"`
		// History begins with the newest.
		History []struct {
			State   string `json:"state"`
			Version string `json:"version"`
		} `json:"history"`
	}
	if err := cmp.Or(unmarshal(o, "spec", o.Spec, &spec), unmarshal(o, "status", o.Status, &status)); err != nil {
		return nil, err
	}
	var all []ClusterVersion
	add := func(version, how string) {
		if version == "" {
			return // an image by digest that was not looked into yet
		}
		all = append(all, ClusterVersion{
			Version: version, Channel: spec.Channel, Multi: status.Desired.Architecture == archMulti,
			Origin: name + ": " + o.Kind + " " + cmp.Or(spec.ClusterID, o.title()) + how,
		})
	}
	history := status.History
	if len(history) == 0 {
		add(status.Desired.Version, "")
		return all, nil
	}
	if history[0].State != stateCompleted {
		add(history[0].Version, " (on its way)")
	}
	for _, h := range history {
		if h.State == stateCompleted {
			add(h.Version, "")
			break
		}
	}
	return all, nil
}
