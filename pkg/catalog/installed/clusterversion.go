package installed

import "cmp"

// The kind of the object that has the release of the platform, and its group.
const (
	groupConfig        = "config.openshift.io"
	kindClusterVersion = "ClusterVersion"
)

// A ClusterVersion is a release of the platform that a cluster runs or is being updated to.
type ClusterVersion struct {
	Version string
	// Channel is the channel that the cluster follows, or "".
	Channel string
	// Multi says that the cluster runs the multi-architecture payload. If it is false, the
	// architecture is unknown: older clusters do not report it.
	Multi bool
	// UpdateService is the address of the cluster's update service, or "" for the public one.
	UpdateService string
	// Origin names the object in messages: "FILE: ClusterVersion ID".
	Origin string
}

// Values of the API (github.com/openshift/api, config/v1).
const (
	stateCompleted = "Completed"
	archMulti      = "Multi"
)

// clusterVersions reads a ClusterVersion: the release that was completed last, preceded by the one
// to which the cluster is being updated, if any. Updates may start from both: from the former if
// the update cannot continue. A cluster that is still being created may have neither.
func clusterVersions(name string, o object) ([]ClusterVersion, error) {
	var spec struct {
		ClusterID string `json:"clusterID"`
		Channel   string `json:"channel"`
		Upstream  string `json:"upstream"`
	}
	var status struct {
		Desired struct {
			Version      string `json:"version"`
			Architecture string `json:"architecture"`
		} `json:"desired"`
		// History begins with the newest release.
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
			return // an image by digest whose version is not yet known
		}
		all = append(all, ClusterVersion{
			Version: version, Channel: spec.Channel, Multi: status.Desired.Architecture == archMulti, UpdateService: spec.Upstream,
			Origin: name + ": " + o.Kind + " " + cmp.Or(spec.ClusterID, o.title()) + how,
		})
	}
	history := status.History
	if len(history) == 0 {
		add(status.Desired.Version, "")
		return all, nil
	}
	if history[0].State != stateCompleted {
		add(history[0].Version, " (update in progress)")
	}
	for _, h := range history {
		if h.State == stateCompleted {
			add(h.Version, "")
			break
		}
	}
	return all, nil
}
