package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/release"
)

// A Cluster is a cluster that is there, as its ClusterVersion tells.
type Cluster struct {
	// Version is what it runs; Channel what it follows, "" if none.
	Version, Channel string
	// Arch is that of its payload; "" where it is not known, which may be any.
	Arch release.Arch
	// Where says where this was read.
	Where string
}

// enter finds for each cluster the channel that leads it on.
func (c *choice) enter(all []*channel, clusters []Cluster) error {
	var problems []error
	for _, cl := range clusters {
		if err := c.enterCluster(all, cl); err != nil {
			problems = append(problems, &InputError{fmt.Errorf("%s: %w", cl.Where, err)})
		}
	}
	return errors.Join(problems...)
}

func (c *choice) enterCluster(all []*channel, cl Cluster) error {
	v, err := semver.Parse(cl.Version)
	switch {
	case err != nil:
		return fmt.Errorf("version %q: %w", cl.Version, err)
	case len(all) == 0: // a release that is named, or graph data alone
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
		c.notes = append(c.notes, fmt.Sprintf("%s: a cluster with %s for %s is of an architecture that is not mirrored; it will find no updates here", cl.Where, cl.Version, cl.Arch))
		return nil
	case len(best) == 0:
		return fmt.Errorf("no channel of the configuration has %s, which the cluster runs (%s): add a channel that has it and what it is to be updated to",
			cl.title(), strings.Join(slices.Compact(asked), ", "))
	}
	for _, arch := range slices.Sorted(maps.Keys(best)) {
		ch := best[arch]
		at, _ := ch.graph.Find(v)
		switch {
		case at > ch.max:
			c.notes = append(c.notes, fmt.Sprintf("%s: the cluster runs %s, which is above all that is mirrored of %s", cl.Where, cl.Version, ch.Name))
		case !slices.Contains(ch.from, at):
			ch.from = append(ch.from, at)
		}
	}
	return nil
}

// title is what the cluster runs: "4.20.1 for amd64".
func (cl Cluster) title() string {
	if cl.Arch == "" {
		return cl.Version
	}
	return cl.Version + " for " + string(cl.Arch)
}

// prefers reports whether the cluster is led on by a rather than by b: by a channel
// as careful as its own, then by the one with the higher target, then by its own.
func (cl Cluster) prefers(a, b *channel) bool {
	kind := kindOfChannel(cl.Channel)
	if careful := a.kind() == kind; careful != (b.kind() == kind) {
		return careful
	}
	return higher(a, a.max, b, b.max) || a.Name == cl.Channel && !higher(b, b.max, a, a.max)
}
