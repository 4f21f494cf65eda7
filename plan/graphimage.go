package plan

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/blang/semver/v4"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/catalog/image"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/release/graphdata"
)

// baseComponent is the part of a release that the image of graph data stands on:
// it has a shell and cp, and is in the mirror anyway.
const baseComponent = "cli"

// platformList is what Because.List says of the image of graph data.
const platformList = "platform"

// buildGraph reads the graph data and builds the image that carries it, on the first
// of its bases that is there.
func (p *platform) buildGraph(ctx context.Context) error {
	bases := p.graphBases()
	if len(bases) == 0 {
		p.notes = append(p.notes, "graph data is not mirrored, since blockedImages leaves out its image")
		return nil
	}
	source, data, err := readGraphData(ctx, p.from)
	if err != nil {
		return fmt.Errorf("%s: graph: %w", p.cfg.Pos, err)
	}
	for _, base := range bases {
		var built *image.Built
		built, err = graphdata.Build(ctx, p.from.Images, base, data, p.from.Store)
		if errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			break
		}
		base, err := p.pinBase(ctx, base)
		if err != nil {
			return err
		}
		p.notes = append(append(p.notes, built.Warnings...), p.unoffered(data)...)
		p.data = &GraphData{Source: source, SHA256: data.Digest, Base: base, Digest: built.Root.Digest, Repository: GraphRepository, Tag: "latest"}
		return nil
	}
	return fmt.Errorf("%s: graph: %w", p.cfg.Pos, err)
}

// unoffered notes the paths that an update service with the graph data does not
// offer, since it knows a release on them in no such channel: the data is of another
// product or service, or older than the graph.
func (p *platform) unoffered(data *graphdata.Data) []string {
	missing := map[string][]string{} // by channel
	for _, t := range p.payloads {
		v, err := semver.Parse(t.version)
		if err != nil {
			continue // no channel has it
		}
		channels := data.Channels(v, t.arch)
		for _, why := range t.reasons {
			if why.Channel != "" && !slices.Contains(channels, why.Channel) && !slices.Contains(missing[why.Channel], t.name()) {
				missing[why.Channel] = append(missing[why.Channel], t.name())
			}
		}
	}
	var notes []string
	for _, channel := range slices.Sorted(maps.Keys(missing)) {
		notes = append(notes, fmt.Sprintf("the graph data does not have %s in channel %s: an update service with it does not offer that there; mirror.platform.graphData names other graph data",
			few(missing[channel]), channel))
	}
	return notes
}

func readGraphData(ctx context.Context, from From) (source string, data *graphdata.Data, err error) {
	source, tarball, err := from.Updates.GraphData(ctx)
	if err != nil {
		return "", nil, err
	}
	if data, err = graphdata.Read(bytes.NewReader(tarball)); err != nil {
		return "", nil, fmt.Errorf("%s: %w", source, err)
	}
	return source, data, nil
}

// graphBases are the images to build on, the best first: a part of a release, that
// of most architectures and the newest, and what graph data is built on without any.
// Those that are blocked are not among them.
func (p *platform) graphBases() []string {
	var bases []string
	rank := func(t *taking) int { return slices.Index([]release.Arch{release.DefaultArch, release.Multi}, t.arch) }
	for _, t := range slices.SortedStableFunc(slices.Values(p.payloads), func(a, b *taking) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), compareVersions(b.version, a.version))
	}) {
		for _, c := range t.payload.Components {
			if slices.Contains(c.Names, baseComponent) {
				bases = append(bases, c.Ref)
			}
		}
	}
	bases = append(slices.Compact(bases), graphdata.BaseImage)
	return slices.DeleteFunc(bases, func(base string) bool {
		_, ok := blockedBy(p.blocked, base, GraphRepository)
		return ok
	})
}

// pinBase is the reference of a base by digest.
func (p *platform) pinBase(ctx context.Context, base string) (string, error) {
	ref, err := reference.Parse(base)
	if err != nil || ref.Digest != "" {
		return base, err
	}
	desc, _, err := p.from.Images.Manifest(ctx, base, "")
	if err != nil {
		return "", err
	}
	return ref.WithDigest(desc.Digest).String(), nil
}

// collectGraph asks for the image of graph data.
func (p *platform) collectGraph(ws *wishes) error {
	if p.data == nil {
		return nil
	}
	ref, err := reference.Parse(p.data.Base)
	if err != nil {
		return err
	}
	ws.add(wish{
		source: p.data.Base, ref: ref, digest: p.data.Digest, kind: GraphImage, repo: p.data.Repository, tags: []string{p.data.Tag},
		because: []Because{{List: platformList}}, platforms: p.cfg.Platforms, pos: p.cfg.Pos,
	})
	return nil
}

// errGraphData says that a plan's graph data is gone from where it was.
var errGraphData = errors.New("what is published there has changed since the plan was made: make it again")

// RebuildGraph builds the image of a plan's graph data again, out of the same data,
// and puts it into the store. It is needed where the plan is carried out without
// the workspace that it was made in.
func RebuildGraph(ctx context.Context, g GraphData, from From) error {
	if from.Updates == nil {
		return errors.New("building the image of graph data again: nothing tells of updates here")
	}
	source, data, err := readGraphData(ctx, from)
	switch {
	case err != nil:
	case data.Digest != g.SHA256:
		err = fmt.Errorf("%s: %w", source, errGraphData)
	default:
		built, buildErr := graphdata.Build(ctx, from.Images, g.Base, data, from.Store)
		if err = buildErr; err == nil && built.Root.Digest != g.Digest {
			err = fmt.Errorf("it came out as %s, the plan has %s: make the plan again", built.Root.Digest, g.Digest)
		}
	}
	if err != nil {
		return fmt.Errorf("building the image of graph data again: %w", err)
	}
	return nil
}

// An UpdateGraph is an update graph as it was when the plan was made.
type UpdateGraph struct {
	// URL is where it was asked for, without credentials; SHA256 is the digest of
	// the answer.
	URL    string        `json:"url"`
	SHA256 digest.Digest `json:"sha256"`
}
