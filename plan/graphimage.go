package plan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release/graphdata"
)

// baseComponent is the part of a release that the image of graph data stands on:
// it has a shell and cp, and is in the mirror anyway.
const baseComponent = "cli"

// buildGraph reads the graph data and builds the image that carries it.
func (p *platform) buildGraph(ctx context.Context) error {
	source, data, err := readGraphData(ctx, p.from)
	if err != nil {
		return fmt.Errorf("%s: graph: %w", p.cfg.Pos, err)
	}
	base := reference.Reference{}
	if base, err = p.graphBase(ctx); err != nil {
		return fmt.Errorf("%s: graph: %w", p.cfg.Pos, err)
	}
	built, err := graphdata.Build(ctx, p.from.Images, base.String(), data, p.from.Store)
	if err != nil {
		return err
	}
	p.notes = append(p.notes, built.Warnings...)
	p.data = &GraphData{
		Source: source, SHA256: data.Digest, Base: base.String(), Digest: built.Root.Digest, Repository: GraphRepository, Tag: "latest",
	}
	return nil
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

// graphBase is the image to build on, by digest: a part of the newest release, or
// what graph data is built on without any.
func (p *platform) graphBase(ctx context.Context) (reference.Reference, error) {
	var newest *taking
	for _, t := range p.payloads {
		if newest == nil || compareVersions(t.version, newest.version) > 0 {
			newest = t
		}
	}
	if newest != nil {
		for _, c := range newest.payload.Components {
			if slices.Contains(c.Names, baseComponent) {
				return reference.Parse(c.Ref)
			}
		}
	}
	ref, err := reference.Parse(graphdata.BaseImage)
	if err != nil {
		return ref, err
	}
	desc, _, err := p.from.Images.Manifest(ctx, ref.String(), "")
	if err != nil {
		return ref, fmt.Errorf("reading %s, on which the image of graph data is built: %w", ref, err)
	}
	ref.Tag = ""
	return ref.WithDigest(desc.Digest), nil
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
		because: []Because{{List: "platform"}}, pos: p.cfg.Pos,
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
