package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/manifest"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/release/path"
	"github.com/gantry-mirror/gantry/pkg/release/payload"
	"github.com/gantry-mirror/gantry/pkg/signature/cosign"
	"github.com/gantry-mirror/gantry/plan"
)

// proveVersions looks for the way from --from to --to in the graph of the mirror, and
// for all images of the releases on it, as the releases themselves name them.
func (c *platformCheck) proveVersions(ctx context.Context) error {
	arch, err := release.ParseArch(c.flags.arch)
	if err != nil {
		return usagef("--arch: %w", err)
	}
	var versions []semver.Version
	for _, text := range append(slices.Clone(c.flags.from), c.flags.to) {
		v, err := semver.Parse(text)
		if err != nil {
			return usagef("%q is no version such as 4.20.5: %w", text, err)
		}
		versions = append(versions, v)
	}
	from, to := versions[:len(versions)-1], versions[len(versions)-1]
	if c.mirror.Data == nil {
		return &hintError{&mismatchError{fmt.Sprintf("there is no graph data at %s, so that nothing tells the ways from version to version", c.target.Name(plan.GraphRepository))},
			": ", "mirror with graph: true, or check a plan"}
	}
	channel := c.flags.channel
	if channel == "" {
		channels := c.mirror.Data.Channels(to, arch)
		if len(channels) == 0 {
			return &mismatchError{fmt.Sprintf("no channel of the graph data at %s has %s for %s", c.report.GraphData, to, arch)}
		}
		channel = channels[max(0, slices.IndexFunc(channels, func(s string) bool { return strings.HasPrefix(s, "stable-") }))]
	}
	g, err := c.mirror.Graph(channel, arch, nil)
	if err != nil {
		return &mismatchError{err.Error()}
	}
	paths, err := path.Find(g, from, to, path.Policy{Mode: path.Ignore, AllowAlways: true})
	if err != nil {
		return &mismatchError{fmt.Sprintf("with what is at %s, channel %s for %s: %v", c.target, channel, arch, err)}
	}
	for _, p := range paths {
		proved := provedUpdate{Channel: channel, Arch: string(arch), From: p.From.String(), To: p.To.String(), Hops: []provedHop{}}
		for _, h := range p.Hops {
			hop := provedHop{From: h.From.String(), To: h.To.String()}
			for _, r := range h.Risks {
				hop.Risks = append(hop.Risks, r.Name)
			}
			proved.Hops = append(proved.Hops, hop)
		}
		c.report.Updates = append(c.report.Updates, proved)
		for _, n := range p.Nodes {
			if err := c.addWhole(ctx, g.Nodes[n].Version.String(), arch); err != nil {
				return err
			}
		}
	}
	c.note("whether the signatures of the releases are in the clusters was not looked at: that takes a plan")
	return nil
}

// addWhole enters a release of the mirror and what it lacks.
func (c *platformCheck) addWhole(ctx context.Context, version string, arch release.Arch) error {
	name := release.Name(version, arch)
	if slices.ContainsFunc(c.report.Releases, func(r provedRelease) bool { return r.Name == name }) {
		return nil
	}
	there := c.mirror.Find(version, arch) // it is in the graph
	r := provedRelease{Name: name, Digest: there.Digest}
	p, err := payload.Read(ctx, c.images, there.Ref, "")
	switch {
	case err == nil:
		r.Problems, err = c.parts(ctx, p)
	case errors.Is(err, fs.ErrNotExist):
		r.Problems, err = []platformProblem{{Problem: err.Error(), Hint: "mirror again to bring it"}}, nil
	}
	c.addRelease(r)
	return err
}

// parts asks for every image of a release, and for its signatures where clusters
// want them.
func (c *platformCheck) parts(ctx context.Context, p *payload.Payload) ([]platformProblem, error) {
	releases, components := c.target.Name(plan.ReleaseRepository), c.target.Name(plan.ComponentRepository)
	v, err := semver.Parse(p.Version)
	if err != nil {
		return nil, err
	}
	signed := cosign.Needed(v)
	lacking := make([][]platformProblem, len(p.Components)+1)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(min(c.target.streams, maxReleaseReads))
	g.Go(func() (err error) {
		lacking[0], err = c.part(ctx, "release image", releases, p.Digest, signed)
		return err
	})
	for i, component := range p.Components {
		g.Go(func() (err error) {
			lacking[i+1], err = c.part(ctx, "component "+strings.Join(component.Names, ", "), components, component.Digest, signed)
			return err
		})
	}
	err = g.Wait()
	return slices.Concat(lacking...), err
}

// part asks for an image, the images of a list, and the signatures of those that are
// no list.
func (c *platformCheck) part(ctx context.Context, what string, repository reference.Reference, d digest.Digest, signed bool) ([]platformProblem, error) {
	at := repository.WithDigest(d)
	missing := func(what string, at reference.Reference) platformProblem {
		return platformProblem{Problem: what + ": it is not there", At: at.String(), Hint: "mirror again to bring it"}
	}
	desc, there, err := c.target.client.ManifestExists(ctx, at)
	if err != nil || !there {
		return []platformProblem{missing(what, at)}, err
	}
	if !manifest.IsIndex(desc.MediaType) {
		if !signed {
			return nil, nil
		}
		at = repository.WithTag(cosign.Tag(d))
		if _, there, err = c.target.client.ManifestExists(ctx, at); err != nil || there {
			return nil, err
		}
		return []platformProblem{missing("signatures of "+what, at)}, nil
	}
	children, err := c.children(ctx, at)
	var problems []platformProblem
	for _, child := range children {
		if err != nil {
			break
		}
		var more []platformProblem
		more, err = c.part(ctx, fmt.Sprintf("%s for %s", what, platformName(child.Platform)), repository, child.Digest, signed)
		problems = append(problems, more...)
	}
	return problems, err
}

// children are the images of a list.
func (c *platformCheck) children(ctx context.Context, at reference.Reference) ([]ocispec.Descriptor, error) {
	_, raw, err := c.target.client.Manifest(ctx, at)
	if err != nil {
		return nil, err
	}
	var list ocispec.Index
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("reading the list %s: %w", at, err)
	}
	return list.Manifests, nil
}

func platformName(p *ocispec.Platform) string {
	if p == nil {
		return "no platform"
	}
	return p.OS + "/" + p.Architecture
}
