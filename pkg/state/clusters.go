package state

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/release"
)

// Clusters is what clusters run, as far as the runs of an image set were given it. A run without such files keeps
// the upgrade paths from there.
type Clusters struct {
	// Operators are the installed operators whose packages the image set has.
	Operators []ClusterOperator `json:"operators,omitempty"`
	// Releases are the platform releases of clusters.
	Releases []ClusterRelease `json:"releases,omitempty"`
}

// Runs reports whether clusters run an operator of a package.
func (c *Clusters) Runs(name string) bool {
	return c != nil && slices.ContainsFunc(c.Operators, func(o ClusterOperator) bool { return o.Package == name })
}

// A ClusterOperator is an installed operator. Either Bundle or Version may be empty.
type ClusterOperator struct {
	Package string `json:"package"`
	Bundle  string `json:"bundle,omitempty"`
	Version string `json:"version,omitempty"`
	// Channel is the channel that it follows, "" if that is any or unknown.
	Channel string `json:"channel,omitempty"`
	// OLM is the generation of OLM that installed it, OLMClassic or OLMV1; "" if it is unknown.
	OLM string `json:"olm,omitempty"`
}

// The generations of OLM in records.
const (
	OLMClassic = "classic"
	OLMV1      = "v1"
)

// A ClusterRelease is the platform release that a cluster runs, and the channel that it follows.
type ClusterRelease struct {
	Version string       `json:"version"`
	Channel string       `json:"channel,omitempty"`
	Arch    release.Arch `json:"arch,omitempty"`
}

// clustersFile has what clusters run, by image set. Mirrors have it in their records, too; archives do not.
const clustersFile = "clusters.json"

const damagedClusters = "if it is damaged, remove it, and give the next run the files about clusters again"

// Clusters returns what clusters run according to the last run of an image set, nil if it is unknown.
func (w *Workspace) Clusters(name string) (*Clusters, error) {
	all, err := readMap[*Clusters](w, clustersFile, damagedClusters)
	return all[name], err
}

// SaveClusters saves what clusters run according to a run of an image set. Nil removes it.
func (w *Workspace) SaveClusters(name string, c *Clusters) error {
	return setInMap(w, clustersFile, damagedClusters, name, c)
}

// ReadClusters is Clusters without locking the workspace in dir, which need not exist.
func ReadClusters(dir, name string) (*Clusters, error) {
	return readIfExists(dir, func(w *Workspace) (*Clusters, error) { return w.Clusters(name) })
}
