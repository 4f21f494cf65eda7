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
	"strings"

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

// buildGraph reads the graph data and builds the image that carries it, for the
// architectures of the releases.
func (p *platform) buildGraph(ctx context.Context) error {
	candidates := p.graphBases()
	if len(candidates) == 0 {
		p.notes = append(p.notes, "graph data is not mirrored, since blockedImages leaves out its image")
		return nil
	}
	source, data, err := readGraphData(ctx, p.from)
	if err != nil {
		return fmt.Errorf("%s: graph: %w", p.cfg.Pos, err)
	}
	bases, built, err := p.buildOn(ctx, data, candidates)
	if err != nil {
		return fmt.Errorf("%s: graph: %w", p.cfg.Pos, err)
	}
	if bases[0], err = p.pinBase(ctx, bases[0]); err != nil {
		return err
	}
	p.notes = append(append(p.notes, built.Warnings...), p.unoffered(data)...)
	p.data = &GraphData{Source: source, SHA256: data.Digest, Base: bases[0], Digest: built.Root.Digest, Repository: GraphRepository, Tag: "latest"}
	if len(bases) > 1 {
		p.data.MoreBases = bases[1:]
	}
	return nil
}

// buildOn builds on one image for all architectures, or on the best of each that is
// there, and says on which.
func (p *platform) buildOn(ctx context.Context, data *graphdata.Data, candidates []graphBase) (bases []string, built *image.Built, err error) {
	var lacking []string
	missing := fs.ErrNotExist
	for _, c := range candidates {
		if c.arch == "" && len(bases) > 0 {
			break
		}
		base, one, err := p.buildOnFirst(ctx, data, c.refs)
		switch {
		case err == nil:
			bases, built = append(bases, base), one
		case !errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil:
			return nil, nil, err
		default:
			lacking = append(lacking, string(c.arch))
			if len(c.refs) > 0 {
				missing = err
			}
			continue
		}
		if c.arch == release.Multi || c.arch == "" {
			return bases, built, nil
		}
	}
	if len(bases) == 0 {
		return nil, nil, missing
	}
	if len(lacking) > 0 {
		p.notes = append(p.notes, fmt.Sprintf("the image of graph data does not run on %s: no release for that has a component %s to build it on that is there",
			strings.Join(lacking, ", "), baseComponent))
	}
	if len(bases) > 1 {
		built, err = graphdata.Build(ctx, p.from.Images, data, p.from.Store, bases[0], bases[1:]...)
	}
	return bases, built, err
}

// buildOnFirst builds on the first of some images that is there. The error is
// fs.ErrNotExist (by errors.Is) where none is.
func (p *platform) buildOnFirst(ctx context.Context, data *graphdata.Data, refs []string) (string, *image.Built, error) {
	err := fs.ErrNotExist
	for _, ref := range refs {
		var built *image.Built
		if built, err = graphdata.Build(ctx, p.from.Images, data, p.from.Store, ref); err == nil {
			return ref, built, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil {
			break
		}
	}
	return "", nil, err
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

// A graphBase is what the image of graph data may stand on for one architecture, the
// best first; of "" for any, where there is nothing else.
type graphBase struct {
	arch release.Arch
	refs []string
}

// graphBases are those of the releases, that for all architectures first, and what
// graph data is built on without any. Images that are blocked are not among them; it
// is empty where all are.
func (p *platform) graphBases() []graphBase {
	refs := map[release.Arch][]string{}
	for _, t := range slices.SortedStableFunc(slices.Values(p.payloads), func(a, b *taking) int { return compareVersions(b.version, a.version) }) {
		refs[t.arch] = append(refs[t.arch], t.component(baseComponent)...)
	}
	var all []graphBase
	for _, arch := range slices.SortedFunc(maps.Keys(refs), func(a, b release.Arch) int {
		rank := []release.Arch{release.DefaultArch, release.Multi}
		return cmp.Or(cmp.Compare(slices.Index(rank, b), slices.Index(rank, a)), cmp.Compare(a, b))
	}) {
		all = append(all, graphBase{arch, refs[arch]})
	}
	all = append(all, graphBase{"", []string{graphdata.BaseImage}})
	left := false
	for i := range all {
		all[i].refs = slices.DeleteFunc(slices.Compact(all[i].refs), func(ref string) bool {
			_, ok := blockedBy(p.blocked, ref, GraphRepository)
			return ok
		})
		left = left || len(all[i].refs) > 0
	}
	if !left {
		return nil
	}
	return all
}

// component are the images that the release calls by a name.
func (t *taking) component(name string) []string {
	var refs []string
	for _, c := range t.payload.Components {
		if slices.Contains(c.Names, name) {
			refs = append(refs, c.Ref)
		}
	}
	return refs
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
var errGraphData = errors.New("what is published there has changed since the plan was made")

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
		built, buildErr := graphdata.Build(ctx, from.Images, data, from.Store, g.Base, g.MoreBases...)
		if err = buildErr; err == nil && built.Root.Digest != g.Digest {
			err = fmt.Errorf("it came out as %s, the plan has %s", built.Root.Digest, g.Digest)
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
