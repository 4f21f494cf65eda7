package proof

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/release/path"
	"github.com/gantry-mirror/gantry/pkg/release/payload"
)

// An ImpossibleError says that no update leads from version to version with what a
// mirror has, and Hint what to do; Hint may be "".
type ImpossibleError struct{ Problem, Hint string }

func (e *ImpossibleError) Error() string { return e.Problem }

// Versions looks for the way from versions to another in the graph of the mirror, for
// all images of the releases on it, as the releases themselves name them, and for the
// signatures of those that clusters are updated to. Where channel is "", it is one
// that has the target, a stable one before others. That there is no way is an
// ImpossibleError.
func (c *Check) Versions(ctx context.Context, from []semver.Version, to semver.Version, channel string, arch release.Arch) error {
	if c.mirror.Data == nil {
		return &ImpossibleError{fmt.Sprintf("there is no graph data at %s, so that nothing tells the ways from version to version", c.GraphData), "mirror with graph: true, or check a plan"}
	}
	if channel == "" {
		channels := c.mirror.Data.Channels(to, arch)
		if len(channels) == 0 {
			return &ImpossibleError{Problem: fmt.Sprintf("no channel of the graph data at %s has %s for %s", c.report.GraphData, to, arch)}
		}
		channel = channels[max(0, slices.IndexFunc(channels, func(s string) bool { return strings.HasPrefix(s, "stable-") }))]
	}
	g, err := c.mirror.Graph(channel, arch, nil)
	if err != nil {
		return &ImpossibleError{Problem: err.Error()}
	}
	paths, err := path.Find(g, from, to, path.Policy{Mode: path.Ignore, AllowAlways: true})
	if err != nil {
		return &ImpossibleError{Problem: fmt.Sprintf("with what is at %s, channel %s for %s: %v", c.Mirror, channel, arch, err)}
	}
	if c.IgnoreSignatures {
		c.report.note(notLookedAt)
	}
	for _, p := range paths {
		for _, n := range p.Nodes {
			if err := c.whole(ctx, g.Nodes[n].Version.String(), arch); err != nil {
				return err
			}
		}
		proved := UpdateReport{Channel: channel, Arch: string(arch), From: p.From.String(), To: p.To.String(), Hops: []HopReport{}}
		for _, h := range p.Hops {
			hop := HopReport{From: h.From.String(), To: h.To.String()}
			for _, r := range h.Risks {
				hop.Risks = append(hop.Risks, r.Name)
			}
			if err := c.signed(hop.To, arch); err != nil {
				return err
			}
			hop.Problems = c.refused(hop.From, hop.To, arch)
			proved.Hops = append(proved.Hops, hop)
		}
		c.report.Updates = append(c.report.Updates, proved)
	}
	return nil
}

// whole enters a release of the mirror and what it lacks, and reads its keys.
func (c *Check) whole(ctx context.Context, version string, arch release.Arch) error {
	name := release.Name(version, arch)
	if slices.ContainsFunc(c.report.Releases, func(r ReleaseReport) bool { return r.Name == name }) {
		return nil
	}
	there := c.mirror.Find(version, arch) // it is in the graph
	r := ReleaseReport{Name: name, Digest: there.Digest}
	p, err := payload.Read(ctx, c.registry, there.Ref, "")
	switch {
	case err == nil:
		c.keys[there.Digest] = p.SignatureConfig
		r.Problems, err = c.parts(ctx, p)
	case errors.Is(err, fs.ErrNotExist):
		r.Problems, err = []Problem{{Problem: err.Error(), Hint: bringIt}}, nil
	}
	c.report.addRelease(r)
	return err
}
