package proof

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/platform/path"
	"github.com/gantry-mirror/gantry/pkg/platform/payload"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// Arches returns the architectures for which the mirror has releases of all versions, or else those for
// which it has the last one. It notes architectures that have only the last one beside some that have
// all.
func (c *Check) Arches(versions []semver.Version) []release.Arch {
	var all, last []release.Arch
	for _, arch := range release.Arches() {
		absent := slices.IndexFunc(versions, func(v semver.Version) bool { return c.mirror.Find(v.String(), arch) == nil })
		switch {
		case absent < 0:
			all = append(all, arch)
		case c.mirror.Find(versions[len(versions)-1].String(), arch) != nil:
			last = append(last, arch)
		}
	}
	if len(all) == 0 {
		return last
	}
	for _, arch := range last {
		c.report.note(fmt.Sprintf("updates for %s were not checked, because the mirror does not have every version for it; to check them, set Options.Arch", arch))
	}
	return all
}

// Versions finds the update paths from versions to another in the mirror's graph. It checks that
// the mirror has every image that the releases on the path name, and the signatures of the releases
// that clusters are updated to. If channel is empty, it takes a channel that has the target,
// preferably a stable one. If no path exists, the error is an *advice.Error of kind Mismatch.
func (c *Check) Versions(ctx context.Context, from []semver.Version, to semver.Version, channel string, arch release.Arch) error {
	if c.mirror.Data == nil {
		return advice.New(advice.Mismatch, "mirror with graph: true, or set Options.Plan", "the mirror has no graph data at %s, so the update paths are unknown", c.GraphData)
	}
	if others := c.Arches([]semver.Version{to}); len(others) > 0 && !slices.Contains(others, arch) {
		return advice.New(advice.Mismatch, fmt.Sprintf("set Options.Arch to %s", others[0]), "%s has no release %s for %s, but for %s", c.Mirror, to, arch, archList(others))
	}
	if channel == "" {
		channels := c.mirror.Data.Channels(to, arch)
		if len(channels) == 0 {
			return advice.New(advice.Mismatch, "", "no channel of the graph data at %s has %s for %s", c.report.GraphData, to, arch)
		}
		channel = channels[max(0, slices.IndexFunc(channels, func(s string) bool { return strings.HasPrefix(s, "stable-") }))]
	}
	g, err := c.mirror.Graph(channel, arch, nil)
	if err != nil {
		return advice.Wrap(advice.Mismatch, err, "")
	}
	paths, err := path.Find(g, from, to, path.Policy{Mode: path.Ignore, AllowAlways: true})
	if err != nil {
		return advice.New(advice.Mismatch, "", "with the content of %s, channel %s for %s: %w", c.Mirror, channel, arch, err)
	}
	if c.IgnoreReleaseSignature {
		c.report.note(signaturesNotChecked)
	}
	for _, p := range paths {
		for _, n := range p.Nodes {
			if err := c.checkRelease(ctx, g.Nodes[n].Version.String(), arch); err != nil {
				return err
			}
		}
		proved := UpdateReport{Channel: channel, Arch: string(arch), From: p.From.String(), To: p.To.String(), Hops: []HopReport{}}
		for _, h := range p.Hops {
			hop := HopReport{From: h.From.String(), To: h.To.String()}
			for _, r := range h.Risks {
				hop.Risks = append(hop.Risks, r.Name)
			}
			if err := c.checkSignatures(hop.To, arch); err != nil {
				return err
			}
			hop.Problems = c.rejections(hop.From, hop.To, arch)
			proved.Hops = append(proved.Hops, hop)
		}
		c.report.Updates = append(c.report.Updates, proved)
	}
	return nil
}

// archList returns architectures as "amd64, multi".
func archList(arches []release.Arch) string {
	names := make([]string, len(arches))
	for i, arch := range arches {
		names[i] = string(arch)
	}
	return strings.Join(names, ", ")
}

// checkRelease adds a release of the mirror and what is missing of it to the report, and reads its
// keys.
func (c *Check) checkRelease(ctx context.Context, version string, arch release.Arch) error {
	name := release.Name(version, arch)
	if slices.ContainsFunc(c.report.Releases, func(r ReleaseReport) bool { return r.Name == name }) {
		return nil
	}
	found := c.mirror.Find(version, arch) // it is in the graph
	r := ReleaseReport{Name: name, Digest: found.Digest}
	p, err := payload.Read(ctx, c.registry, found.Ref, "")
	switch {
	case err == nil:
		c.keys[found.Digest] = p.SignatureConfig
		r.Problems, err = c.checkParts(ctx, p)
	case errors.Is(err, fs.ErrNotExist):
		r.Problems, err = []Problem{{Problem: err.Error(), Hint: mirrorAgain}}, nil
	}
	c.report.addRelease(r)
	return err
}
