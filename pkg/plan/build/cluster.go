package build

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/release"
)

// A Cluster is an existing cluster, as its ClusterVersion describes it.
type Cluster struct {
	// Version is the version that it runs, Channel the channel that it follows, "" if none.
	Version, Channel string
	// Arch is the architecture of its payload; "" if unknown.
	Arch release.Arch
	// Where is the file or command that this was read from.
	Where string
}

// addClusters finds the best channel for each cluster.
func (c *releaseSelection) addClusters(all []*channel, clusters []Cluster) error {
	var problems []error
	for _, cl := range clusters {
		if err := c.addCluster(all, cl); err != nil {
			problems = append(problems, inputErrorf("%s: %w", cl.Where, err))
		}
	}
	return errors.Join(problems...)
}

func (c *releaseSelection) addCluster(all []*channel, cl Cluster) error {
	v, err := semver.Parse(cl.Version)
	switch {
	case err != nil:
		return fmt.Errorf("version %q: %w", cl.Version, err)
	case len(all) == 0: // a single release, or only graph data
		return nil
	}
	best := map[release.Arch]*channel{}
	var asked []string
	for _, ch := range all {
		if cl.Arch != "" && ch.arch != cl.Arch {
			continue
		}
		asked = append(asked, ch.Name)
		if _, ok := ch.graph.Find(v); ok && (best[ch.arch] == nil || cl.prefers(ch, best[ch.arch])) {
			best[ch.arch] = ch
		}
	}
	switch {
	case asked == nil:
		c.notes = append(c.notes, fmt.Sprintf("%s: the architecture of a cluster with %s, %s, is not mirrored, so it gets no updates; add it to architectures", cl.Where, cl.Version, cl.Arch))
		return nil
	case len(best) == 0:
		return fmt.Errorf("no channel of the configuration has %s, which the cluster runs (%s): add a channel that has it and the version to update to",
			cl.title(), strings.Join(slices.Compact(asked), ", "))
	}
	for _, arch := range slices.Sorted(maps.Keys(best)) {
		ch := best[arch]
		at, _ := ch.graph.Find(v)
		switch {
		case at > ch.max:
			c.notes = append(c.notes, fmt.Sprintf("%s: the cluster runs %s, which is newer than all mirrored releases of %s", cl.Where, cl.Version, ch.Name))
		case !slices.Contains(ch.installed, at):
			ch.installed = append(ch.installed, at)
		}
	}
	return nil
}

// title returns version and architecture: "4.20.1 for amd64".
func (cl Cluster) title() string {
	if cl.Arch == "" {
		return cl.Version
	}
	return cl.Version + " for " + string(cl.Arch)
}

// prefers reports whether channel a is better for the cluster than b: one of the same kind as its own
// channel, then the one with the higher target, then its own.
func (cl Cluster) prefers(a, b *channel) bool {
	kind := kindOfChannel(cl.Channel)
	if same := a.kind() == kind; same != (b.kind() == kind) {
		return same
	}
	return higher(a, a.max, b, b.max) || a.Name == cl.Channel && !higher(b, b.max, a, a.max)
}
